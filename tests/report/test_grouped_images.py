"""Images in the groups of now: labels, what the model says, and what a person decided since."""

from pathlib import Path

import numpy as np
import pytest

from legogcd.edits import Confirm, Edit, Merge, Name, Split
from legogcd.report.page.grouped_images import GroupedImages, group_images
from legogcd.run.categories import Categories, append_edit, current
from legogcd.run.discovery import Discovery, write_predictions

KNOWN = ("owl", "hawk")
BELIEF = np.array(
    [
        [0.6, 0.1, 0.2, 0.1],  # 0 owl, labelled hawk
        [0.7, 0.1, 0.1, 0.1],  # 1 owl
        [0.1, 0.5, 0.3, 0.1],  # 2 hawk, labelled
        [0.1, 0.2, 0.6, 0.1],  # 3 new-001
        [0.2, 0.1, 0.5, 0.2],  # 4 new-001
        [0.0, 0.1, 0.8, 0.1],  # 5 new-001
        [0.1, 0.2, 0.3, 0.4],  # 6 new-002
    ]
)
LABELS = np.array([1, -1, 1, -1, -1, -1, -1])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    names = tuple(f"{number}.jpg" for number in range(len(BELIEF)))
    write_predictions(tmp_path, Discovery(names, LABELS, BELIEF.argmax(1), BELIEF.max(1), KNOWN, 4))
    return tmp_path


def grouped(run: Path, *edits: Edit) -> GroupedImages:
    for edit in edits:
        append_edit(run, edit)
    return group_images(current(run), Categories.of_run(run, KNOWN, 4), BELIEF)


def where(images: GroupedImages) -> list[str]:
    return [images.groups[group] for group in images.group]


def test_a_label_decides_where_an_image_is_and_the_model_what_is_predicted(run: Path) -> None:
    images = grouped(run)
    assert images.groups == ("owl", "hawk", "new-001", "new-002")
    assert images.known.tolist() == [True, True, False, False]
    assert where(images) == ["hawk", "owl", "hawk", "new-001", "new-001", "new-001", "new-002"]
    assert images.predicted.tolist() == BELIEF.argmax(1).tolist()
    assert images.labelled.tolist() == [True, False, True, False, False, False, False]
    assert images.confidence.tolist() == BELIEF.max(1).tolist()
    assert images.certainty[0] == 0.1  # the model sees little of the hawk it is labelled as
    assert images.certainty[1:].tolist() == BELIEF.max(1)[1:].tolist()
    assert images.learned.all()


def test_most_of_a_group_split_off_leaves_the_prototype_where_it_was(run: Path) -> None:
    images = grouped(run, Split("new-001", ("3.jpg", "5.jpg"), "barn owl"))
    assert images.groups == ("owl", "hawk", "new-001", "new-002", "barn owl")
    assert where(images)[3:6] == ["barn owl", "new-001", "barn owl"]
    assert images.belief[:, :4].tolist() == BELIEF.tolist()
    assert not images.belief[:, 4].any()
    assert images.predicted.tolist() == BELIEF.argmax(1).tolist()
    assert images.learned.tolist() == [True, True, True, True, False]
    assert images.certainty[3] == 0.6  # of a group it never saw, the model says how sure it is of its own choice
    assert images.certainty[4] == 0.5


def test_a_split_into_a_known_class_and_a_merge_add_up_to_it(run: Path) -> None:
    images = grouped(run, Merge("owl", ("new-002",)), Split("new-001", ("5.jpg",), "owl"))
    assert images.groups == ("owl", "hawk", "new-001")
    assert where(images) == ["hawk", "owl", "hawk", "new-001", "new-001", "owl", "owl"]
    np.testing.assert_allclose(images.belief[:, 0], BELIEF[:, 0] + BELIEF[:, 3])
    assert images.predicted.tolist() == [0, 0, 1, 2, 2, 2, 0]


def test_a_new_group_merged_into_a_known_class_makes_the_whole_of_it_known(run: Path) -> None:
    images = grouped(run, Name("new-001", "kite"), Name("new-002", "gull"), Merge("hawk", ("gull",)))
    assert images.groups == ("owl", "hawk", "kite")
    assert images.known.tolist() == [True, True, False]
    np.testing.assert_allclose(images.belief[:, 1], BELIEF[:, 1] + BELIEF[:, 3])


def test_an_emptied_group_is_not_shown_and_takes_its_belief_along(run: Path) -> None:
    table = current(run)
    table = table[table["path"] != "6.jpg"]  # the only image of new-002 cannot be read any more
    images = group_images(table, Categories.of_run(run, KNOWN, 4), BELIEF[:6])
    assert images.groups == ("owl", "hawk", "new-001")
    assert images.belief.tolist() == BELIEF[:6, :3].tolist()
    assert [len(images.members(group)) for group in range(3)] == [1, 2, 3]


def test_confirmed_images_count_as_labelled(run: Path) -> None:
    images = grouped(run, Name("new-001", "kite"), Confirm({"kite": ("3.jpg", "4.jpg")}))
    assert images.labelled.tolist() == [True, False, True, True, True, False, False]
    assert images.members(2).tolist() == [3, 4, 5]
