"""Groups that hold two kinds."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from legogcd.report.page.findings.finding import Finding, FindingKind, most_typical
from legogcd.report.page.grouped_images import GroupedImages

TWO_PARTS = 0.15  # silhouette; on two photo sets pure groups stayed below 0.14, but so do joined kinds that are alike
SMALLEST_PART = 0.15  # of the images; a few odd ones are outliers, not a second kind
_FEWEST = 10  # images in a group that can look like two
_SILHOUETTE_SAMPLE = 1000


def groups_like_two(images: GroupedImages, units: np.ndarray) -> list[Finding]:
    """Groups that fall apart into two: 2-means inside leaves a high silhouette and no small part.

    ``images``: the three most typical of each part. ``values``: silhouette, sizes of the parts.
    """
    found = []
    for group in range(len(images.groups)):
        members = images.members(group)
        if len(members) < _FEWEST:
            continue
        halves = KMeans(2, n_init=4, random_state=0).fit(units[members])
        sizes = np.bincount(halves.labels_, minlength=2)
        if sizes.min() < SMALLEST_PART * len(members):
            continue
        chosen = np.linspace(0, len(members) - 1, min(len(members), _SILHOUETTE_SAMPLE)).astype(int)
        apart = float(silhouette_score(units[members[chosen]], halves.labels_[chosen]))
        if apart >= TWO_PARTS:
            larger, smaller = (
                most_typical(units, members[halves.labels_ == part], halves.cluster_centers_[part])
                for part in np.argsort(-sizes, kind="stable")
            )
            found.append(Finding(larger + smaller, (group,), (apart, float(sizes.max()), float(sizes.min()))))
    return sorted(found, key=lambda finding: -finding.values[0])


def _sentence(finding: Finding, images: GroupedImages) -> str:
    apart, larger, smaller = finding.values
    return (
        f"{images.groups[finding.groups[0]]} looks like two kinds: its images fall into parts of "
        f"{larger:.0f} and {smaller:.0f} (separation {apart:.2f}; {TWO_PARTS} or more is listed here)."
    )


GROUPS_LIKE_TWO = FindingKind(
    key="like-two",
    title="Groups that look like two",
    advice="If you see two kinds, take one out with legogcd split, or run again with more classes.",
    nothing="No group falls apart into two.",
    search=lambda images, units, _: groups_like_two(images, units),
    sentence=_sentence,
)
