"""One kind in two groups."""

import numpy as np

from legogcd.clustering.alike_groups import alike_groups
from legogcd.report.page.findings.finding import Finding, FindingKind, most_typical
from legogcd.report.page.group_means import mean_features
from legogcd.report.page.grouped_images import GroupedImages


def groups_like_one(images: GroupedImages, units: np.ndarray, most: int = 20) -> list[Finding]:
    """Pairs with at least one new group whose centers are closer than the groups are wide.

    ``images``: the three most typical of each. ``values``: the distance of the centers in mean widths.
    """
    n_groups, n_known = len(images.groups), int(images.known.sum())
    middle = mean_features(units, images.group, n_groups)
    found = []
    for first, second, ratio in alike_groups(units, images.group, n_groups, n_known)[:most]:
        ones, others = (most_typical(units, images.members(group), middle[group]) for group in (first, second))
        found.append(Finding(ones + others, (first, second), (ratio,)))
    return found


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
