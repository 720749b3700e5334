"""One kind in two groups: their centers are closer than the groups are wide. The one place that says so."""

import numpy as np
from numpy.typing import NDArray

from legogcd.clustering.group_sums import group_sums
from legogcd.clustering.kmeans.points import chunks

ONE_SPREAD = 0.65  # distance of centers, in widths of the groups, below which two look like one
_FEWEST = 3  # images in a group that has a width


def alike_groups(
    units: NDArray[np.floating], group: NDArray[np.int64], n_groups: int, n_known: int
) -> list[tuple[int, int, float]]:
    """Pairs of groups, at least one of them new, and the distance of their centers in mean widths, the nearest first.

    ``units`` [N, D] are features at length 1, ``group`` [N] where each image is, known groups first. Wide is the root
    mean square distance to the own center.
    """
    sums = group_sums(units, group, n_groups)
    sizes = np.bincount(group, minlength=n_groups)
    middle = sums / np.maximum(sizes, 1)[:, None]
    squared = np.empty(len(units))
    for rows in chunks(*units.shape):
        squared[rows] = ((units[rows] - middle[group[rows]]) ** 2).sum(1)
    width = np.sqrt(np.bincount(group, squared, minlength=n_groups) / np.maximum(sizes, 1))
    found = []
    for first in np.flatnonzero(sizes >= _FEWEST).tolist():
        others = np.arange(max(first + 1, n_known), n_groups)
        mean_width = np.maximum((width[first] + width[others]) / 2, 1e-9)
        ratios = np.linalg.norm(middle[others] - middle[first], axis=1) / mean_width
        near = others[(ratios < ONE_SPREAD) & (sizes[others] >= _FEWEST)]
        found += [(first, second, float(ratios[second - others[0]])) for second in near.tolist()]
    return sorted(found, key=lambda pair: pair[2])
