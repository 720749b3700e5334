"""One kind in two groups."""

import numpy as np

from legogcd.report.page.findings.finding import Finding, FindingKind, most_typical
from legogcd.report.page.group_means import mean_features
from legogcd.report.page.grouped_images import GroupedImages

ONE_SPREAD = 0.65  # distance of centers, in spreads of the groups, below which two look like one
_FEWEST = 3  # images in a group that has a width


def groups_like_one(images: GroupedImages, units: np.ndarray, most: int = 20) -> list[Finding]:
    """Pairs with at least one new group whose centers are closer than the groups are wide.

    Wide is the root mean square distance to the own center. ``images``: the three most typical of each.
    ``values``: the distance of the centers in mean widths.
    """
    n_groups, n_known = len(images.groups), int(images.known.sum())
    middle = mean_features(units, images.group, n_groups)
    squared = ((units - middle[images.group]) ** 2).sum(1)
    sizes = np.bincount(images.group, minlength=n_groups)
    width = np.sqrt(np.bincount(images.group, squared, minlength=n_groups) / np.maximum(sizes, 1))
    found = []
    for first in range(n_groups):
        for second in range(max(first + 1, n_known), n_groups):
            if min(sizes[first], sizes[second]) < _FEWEST:
                continue
            distance = float(np.linalg.norm(middle[first] - middle[second]))
            ratio = distance / max(float(width[first] + width[second]) / 2, 1e-9)
            if ratio < ONE_SPREAD:
                ones, others = (most_typical(units, images.members(group), middle[group]) for group in (first, second))
                found.append(Finding(ones + others, (first, second), (ratio,)))
    return sorted(found, key=lambda finding: finding.values[0])[:most]


def _sentence(finding: Finding, images: GroupedImages) -> str:
    first, second = (images.groups[group] for group in finding.groups)
    return (
        f"{first} and {second} look like one kind: their centers are only {finding.values[0]:.2f} "
        f"of a group's own width apart."
    )


GROUPS_LIKE_ONE = FindingKind(
    key="like-one",
    title="Groups that look like one",
    advice="If you see one kind, join them with legogcd merge, or run again with fewer classes.",
    nothing="No two groups lie close enough to be one.",
    search=lambda images, units, _: groups_like_one(images, units),
    sentence=_sentence,
)
