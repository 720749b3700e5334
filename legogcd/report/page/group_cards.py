"""Every group as the page shows it: typical and doubtful images, and where it meets the known class nearest to it."""

from dataclasses import dataclass

import numpy as np

from legogcd.report.page.group_means import directions, mean_features
from legogcd.report.page.grouped_images import GroupedImages
from legogcd.report.page.sentences import border_sentence

_TYPICAL, _UNCERTAIN, _BORDER = 12, 8, 4


@dataclass(frozen=True)
class GroupCard:
    """One group on the page; ``typical``, ``uncertain`` and ``border`` are images."""

    number: int
    name: str
    known: bool
    size: int
    labelled: int
    confidence: float | None  # mean over the images without a label
    typical: list[int]
    uncertain: list[int]
    border: list[int]
    sentence: str

    @property
    def shown(self) -> list[int]:
        """All images on the card."""
        return [*self.typical, *self.uncertain, *self.border]


def group_cards(images: GroupedImages, units: np.ndarray) -> list[GroupCard]:
    """One card per group, from the images and their features at length 1 [N, D]."""
    centers = directions(mean_features(units, images.group, len(images.groups)))
    return [_card(images, units, centers, group) for group in range(len(images.groups))]


def _card(images: GroupedImages, units: np.ndarray, centers: np.ndarray, group: int) -> GroupCard:
    members = images.members(group)
    without_label = members[~images.labelled[members]]
    certainty = images.certainty[without_label]
    typical = members[np.argsort(-(units[members] @ centers[group]), kind="stable")][:_TYPICAL].tolist()
    doubtful = without_label[np.argsort(certainty, kind="stable")].tolist()
    sentence, border = _nearest_known(images, units, centers, group)
    return GroupCard(
        number=group,
        name=images.groups[group],
        known=bool(images.known[group]),
        size=len(members),
        labelled=int(images.labelled[members].sum()),
        confidence=float(certainty.mean()) if certainty.size else None,
        typical=typical,
        uncertain=[row for row in doubtful if row not in typical][:_UNCERTAIN],
        border=border,
        sentence=sentence,
    )


def _nearest_known(images: GroupedImages, units: np.ndarray, centers: np.ndarray, group: int) -> tuple[str, list[int]]:
    """The known class nearest to a group in a sentence, and the images where the two meet."""
    others = [other for other in np.flatnonzero(images.known).tolist() if other != group]
    if not others:
        return "There is no other known class to compare it with.", []
    nearest = max(others, key=lambda other: float(centers[group] @ centers[other]))
    features = units[images.members(group)]
    closer = int((features @ centers[nearest] > features @ centers[group]).sum())
    alike = float(centers[group] @ centers[nearest])
    sentence = border_sentence(images.groups[nearest], alike, closer, len(features))
    return sentence, border(images, group, nearest)


def border(images: GroupedImages, group: int, other: int, most: int = _BORDER) -> list[int]:
    """Images where two groups meet: those of each in which the model sees most of the other."""
    sides: list[int] = []
    for own, foreign in ((group, other), (other, group)):
        rows = images.members(own)
        sides += rows[np.argsort(-images.belief[rows, foreign], kind="stable")][:most].tolist()
    return sides
