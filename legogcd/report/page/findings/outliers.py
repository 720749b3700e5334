"""Images that fit nowhere."""

import numpy as np

from legogcd.clustering.kmeans.points import chunks
from legogcd.report.page.findings.finding import Finding, FindingKind
from legogcd.report.page.group_means import directions, mean_features
from legogcd.report.page.grouped_images import GroupedImages
from legogcd.report.page.sentences import percent

_UNSURE = 0.1  # share of the images that count as doubtful
_FAR = 3  # robust deviations beyond the median distance
_NORMAL = 1.4826  # standard deviations in a median absolute deviation of normal numbers


def outliers(images: GroupedImages, units: np.ndarray) -> list[Finding]:
    """Images that fit nowhere: among the tenth the model is least sure of, and far out even for their best group.

    Far is three robust deviations beyond the median distance 1 − cos to the center. ``values``: the probability, and
    the share of the group's images that lie nearer.
    """
    middle = directions(mean_features(units, images.group, len(images.groups)))
    cosine = np.empty(len(units))
    for part in chunks(*units.shape):
        cosine[part] = np.einsum("nd,nd->n", units[part], middle[images.predicted[part]])
    distance = 1 - cosine
    unsure = images.confidence <= np.quantile(images.confidence, _UNSURE)
    excess = _excess(distance, images.predicted)
    rows = np.flatnonzero(unsure & (excess > _FAR))
    most = min(50, max(5, len(units) // 100))
    found = []
    for row in rows[np.argsort(-excess[rows], kind="stable")][:most].tolist():
        nearer = distance[images.predicted == images.predicted[row]] < distance[row]
        values = (float(images.confidence[row]), float(nearer.mean()))
        found.append(Finding((row,), (int(images.predicted[row]),), values))
    return found


def _excess(distance: np.ndarray, group: np.ndarray) -> np.ndarray:
    """How far beyond the median distance of its group each image is [N], in robust deviations; 0 in a tiny group."""
    excess = np.zeros(len(distance))
    for number in np.unique(group):
        members = group == number
        if members.sum() >= 3:
            median = np.median(distance[members])
            deviation = _NORMAL * np.median(np.abs(distance[members] - median))
            excess[members] = (distance[members] - median) / max(deviation, 1e-6)
    return excess


def _sentence(finding: Finding, images: GroupedImages) -> str:
    sure, nearer = finding.values
    name = images.groups[finding.groups[0]]
    return (
        f"{images.names[finding.images[0]]} fits nowhere well: the best match is {name} at {percent(sure)}, "
        f"and {percent(nearer)} of the images there are more typical."
    )


OUTLIERS = FindingKind(
    key="outliers",
    title="Images that fit nowhere",
    advice="Often a bad photo, a wrong file, or the only example of something rare.",
    nothing="No image lies far outside every group.",
    search=lambda images, units, _: outliers(images, units),
    sentence=_sentence,
)
