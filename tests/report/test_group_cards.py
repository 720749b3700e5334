"""Group cards and sentences: which images a person sees of a group, and what is said of it."""

import numpy as np
import pytest
from test_report_findings import grouped

from legogcd.report.page.findings import FINDING_KINDS, Finding
from legogcd.report.page.group_cards import border, group_cards
from legogcd.report.page.group_means import directions
from legogcd.report.page.grouped_images import GroupedImages
from legogcd.report.page.sentences import border_sentence, summary_line


@pytest.fixture
def images() -> GroupedImages:
    """Thirty owls, thirty hawks, thirty of a new group, the middle of each in its first image."""
    group = np.repeat([0, 1, 2], 30)
    sure = np.tile(np.linspace(0.9, 0.45, 30), 3)
    belief = np.full((90, 3), 0.0)
    belief[np.arange(90), group] = sure
    belief[np.arange(90), (group + 1) % 3] = 0.7 * (1 - sure)
    belief[np.arange(90), (group + 2) % 3] = 0.3 * (1 - sure)
    labelled = (group < 2) & (np.arange(90) % 30 < 5)
    return grouped(group, belief, 2, labelled)


def fan(angles: list[float]) -> np.ndarray:
    """Thirty directions around each of some angles in a plane, ever farther out, on both sides in turn."""
    steps = np.ceil(np.arange(30) / 2) * np.where(np.arange(30) % 2 == 0, 1, -1) * 0.01
    turned = np.concatenate([angle + steps for angle in angles])
    return directions(np.stack([np.cos(turned), np.sin(turned)], axis=1))


def test_a_card_shows_the_middle_of_a_group_and_what_the_model_doubts(images: GroupedImages) -> None:
    card = group_cards(images, fan([0.0, 1.0, 2.0]))[1]
    assert (card.name, card.known, card.size, card.labelled) == ("group 1", True, 30, 5)
    assert set(card.typical) == set(range(30, 42))
    assert card.uncertain == list(range(59, 51, -1))  # the surest come first in the group, the doubtful last
    unlabelled = images.confidence[35:60]
    assert card.confidence == pytest.approx(unlabelled.mean())
    assert card.shown == [*card.typical, *card.uncertain, *card.border]


def test_an_image_is_not_typical_and_uncertain_at_once(images: GroupedImages) -> None:
    units = fan([0.0, 1.0, 2.0])[::-1]  # the most typical are now those the model doubts
    for card in group_cards(images, units):
        assert not set(card.typical) & set(card.uncertain)


def test_the_nearest_known_class_is_named_with_the_images_that_lie_closer_to_it(images: GroupedImages) -> None:
    units = fan([0.0, 1.0, 1.4])
    units[60:62] = units[30]  # two of the new group look like group 1
    cards = group_cards(images, units)
    assert cards[2].sentence.startswith("Nearest known class: group 1 (similarity 0.9")
    assert "2 of the 30 images lie closer to its center." in cards[2].sentence
    assert cards[1].sentence.startswith("Nearest known class: group 0")  # new groups are no known class
    assert cards[2].border == border(images, 2, 1)


def test_where_groups_meet_the_model_sees_most_of_the_other(images: GroupedImages) -> None:
    assert border(images, 0, 1) == [29, 28, 27, 26, 59, 58, 57, 56]


def test_one_known_class_has_no_other_to_be_compared_with() -> None:
    group = np.repeat([0, 1], 5)
    belief = np.eye(2)[group]
    cards = group_cards(grouped(group, belief, 1), directions(np.eye(2)[group] + 0.1))
    assert cards[0].sentence == "There is no other known class to compare it with."
    assert cards[0].border == []
    assert cards[1].sentence.startswith("Nearest known class: group 0")


@pytest.mark.parametrize(
    ("cosine", "closer", "size", "expected"),
    [
        (0.85, 0, 30, "owl (similarity 0.85, hard to tell apart). None of the 30 images lie closer to its center."),
        (0.84, 1, 30, "owl (similarity 0.84, related). 1 of the 30 images lies closer to its center."),
        (0.6, 2, 30, "owl (similarity 0.60, related). 2 of the 30 images lie closer to its center."),
        (0.59, 1, 1, "owl (similarity 0.59, clearly apart). 1 of the 1 image lies closer to its center."),
    ],
)
def test_how_far_apart_two_groups_are_is_said_in_words(cosine: float, closer: int, size: int, expected: str) -> None:
    assert border_sentence("owl", cosine, closer, size) == f"Nearest known class: {expected}"


def test_the_run_in_one_sentence(images: GroupedImages) -> None:
    assert (
        summary_line(images, 90, 3) == "90 images in 2 known classes and 1 new group; the model is unsure of 3 images."
    )


@pytest.mark.parametrize(
    ("key", "finding", "expected"),
    [
        (
            "wrong-labels",
            Finding((4,), (0, 1), (0.8, 0.5)),
            "4.jpg is labelled group 0, but looks more like group 1 (similarity 0.80 against 0.50).",
        ),
        ("duplicates", Finding((1, 2), (0,)), "These two images look like the same picture, both in group 0."),
        ("duplicates", Finding((1, 2, 3), (0,)), "These 3 images look like the same picture, all in group 0."),
        (
            "duplicates",
            Finding((1, 40), (0, 1)),
            "These two images look like the same picture, yet they are in different categories: group 0, group 1.",
        ),
        (
            "outliers",
            Finding((7,), (2,), (0.4, 0.97)),
            "7.jpg fits nowhere well: the best match is group 2 at 40\u00a0%, "
            "and 97\u00a0% of the images there are more typical.",
        ),
        (
            "like-two",
            Finding((0, 1), (2,), (0.31, 20, 10)),
            "group 2 looks like two kinds: its images fall into parts of 20 and 10 "
            "(separation 0.31; 0.15 or more is listed here).",
        ),
        (
            "like-one",
            Finding((0, 60), (0, 2), (0.42,)),
            "group 0 and group 2 look like one kind: their centers are only 0.42 of a group's own width apart.",
        ),
    ],
)
def test_findings_are_told_in_words(images: GroupedImages, key: str, finding: Finding, expected: str) -> None:
    kind = next(kind for kind in FINDING_KINDS if kind.key == key)
    assert kind.sentence(finding, images) == expected
