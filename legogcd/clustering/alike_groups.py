"""One kind in two groups: their centers are closer than the groups are wide. The one place that says so."""

import numpy as np
from numpy.typing import NDArray

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
    sums = np.zeros((n_groups, units.shape[1]))
    np.add.at(sums, group, units)
    sizes = np.bincount(group, minlength=n_groups)
    middle = sums / np.maximum(sizes, 1)[:, None]
    squared = np.empty(len(units))
    for rows in chunks(*units.shape):
        squared[rows] = ((units[rows] - middle[group[rows]]) ** 2).sum(1)
    width = np.sqrt(np.bincount(group, squared, minlength=n_groups) / np.maximum(sizes, 1))
    found = []
    for first in range(n_groups):
        for second in range(max(first + 1, n_known), n_groups):
            if min(sizes[first], sizes[second]) < _FEWEST:
                continue
            distance = float(np.linalg.norm(middle[first] - middle[second]))
            ratio = distance / max(float(width[first] + width[second]) / 2, 1e-9)
            if ratio < ONE_SPREAD:
                found.append((first, second, ratio))
    return sorted(found, key=lambda pair: pair[2])
