"""Labels that may be wrong."""

import numpy as np

from legogcd.clustering.group_sums import group_sums
from legogcd.report.page.findings.finding import Finding, FindingKind
from legogcd.report.page.group_means import directions
from legogcd.report.page.grouped_images import GroupedImages

DISAGREEMENT = 0.03  # cosine by which another class must be nearer than the rest of the own one
_MOST, _MOST_SHARE = 50, 0.05


def wrong_labels(images: GroupedImages, units: np.ndarray) -> list[Finding]:
    """Labelled images that look more like another labelled class than like the rest of their own: at most 5 % and 50.

    A training image's own probability says little, as the model was taught its label; its feature [D] against the
    mean feature of each class, its own class without it, says more. New groups are left aside: a label is mostly
    mistaken for another label. ``values``: the similarity to the other class, to the rest of its own.
    """
    sums = group_sums(units, images.group, len(images.groups))
    sizes = np.bincount(images.group, minlength=len(images.groups))
    rows = np.flatnonzero(images.labelled & (sizes[images.group] > 1))
    own_group = images.group[rows]
    alike = units[rows] @ directions(sums).T  # [n, G]
    own = np.einsum("nd,nd->n", units[rows], directions(sums[own_group] - units[rows]))
    alike[:, np.setdiff1d(np.arange(len(images.groups)), own_group)] = -np.inf
    alike[np.arange(len(rows)), own_group] = -np.inf
    other = alike.argmax(axis=1)
    lead = alike.max(axis=1) - own
    listed = np.flatnonzero(lead >= DISAGREEMENT)
    most = min(_MOST, int(np.ceil(_MOST_SHARE * len(rows))))
    return [
        Finding(
            (int(rows[place]),),
            (int(own_group[place]), int(other[place])),
            (float(alike[place, other[place]]), float(own[place])),
        )
        for place in listed[np.argsort(-lead[listed], kind="stable")][:most]
    ]


def _sentence(finding: Finding, images: GroupedImages) -> str:
    given, other = (images.groups[group] for group in finding.groups)
    alike, own = finding.values
    return (
        f"{images.names[finding.images[0]]} is labelled {given}, but looks more like {other} "
        f"(similarity {alike:.2f} against {own:.2f})."
    )


WRONG_LABELS = FindingKind(
    key="wrong-labels",
    title="Possible wrong labels",
    advice="Check these labels first: each one teaches the model something that may be false.",
    nothing="No label stands out: every labelled image looks most like the others of its class, or nearly so.",
    search=lambda images, units, _: wrong_labels(images, units),
    sentence=_sentence,
)
