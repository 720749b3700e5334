"""Edits of a finished run: what each kind does and what it refuses."""

from pathlib import Path

import pandas as pd
import pytest
from edited_run import categories, members, refused, statuses, write_run

from legogcd.edits import Confirm, Merge, Name, Split, Undo
from legogcd.errors import UserError
from legogcd.run.categories import (
    append_edit,
    confirmation,
    confirmed_labels,
    current,
    edit_lines,
    read_edits,
    summary_line,
)
from legogcd.run.discovery import read_predictions


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "my run")


def test_without_edits_the_state_is_what_the_run_found(run: Path) -> None:
    table = current(run)
    pd.testing.assert_frame_equal(table.drop(columns="confirmed"), read_predictions(run))
    assert not table["confirmed"].any()
    assert confirmed_labels(run) == {"owl/1.jpg": "owl", "hawk/1.jpg": "hawk"}
    assert read_edits(run) == []


def test_a_name_goes_to_all_images_of_the_group_and_may_change_again(run: Path) -> None:
    edit = append_edit(run, Name("new-003", "  snowy owl "))
    assert edit == Name("new-003", "snowy owl")
    assert members(run, "snowy owl") == ["鳥/é.jpg", "鳥/2.jpg", "鳥/3.jpg"]
    assert summary_line(run, edit) == (
        f"new-003 is now 'snowy owl' (3 images); undo with: legogcd undo '{run.parent}/my run'"
    )
    append_edit(run, Name("snowy owl", "Schnee-Eule"))
    assert len(members(run, "Schnee-Eule")) == 3
    assert current(run)["predicted"].tolist() == read_predictions(run)["predicted"].tolist()
    refused(run, Name("new-003", "x"), "new-003 is now 'Schnee-Eule'")


def test_a_taken_or_reserved_name_is_refused(run: Path) -> None:
    refused(run, Name("new-003", "owl"), "known class 'owl'", "legogcd merge RUN owl new-003")
    append_edit(run, Name("new-001", "barn owl"))
    refused(run, Name("new-003", "barn owl"), "group 'barn owl'", "legogcd merge RUN 'barn owl' new-003")
    refused(run, Name("new-003", "new-009"), "new-009", "kept for groups")
    refused(run, Name("barn owl", "barn owl"), "already")
    for empty in ("", "  \t"):
        refused(run, Name("new-003", empty), "empty")
    for broken in ("a\nb", "a\rb", "a\x00b", "a\u2028b", "a\x85b", "a\udcffb"):
        refused(run, Name("new-003", broken), "control characters")
    append_edit(run, Name("new-004", "Be\u0301casse"))
    refused(run, Name("new-003", "B\u00e9casse"), "legogcd merge")


def test_what_is_not_there_is_answered_with_what_is(run: Path) -> None:
    refused(run, Name("new-03", "x"), "no category 'new-03'", "did you mean new-003?", "'hawk'")
    refused(run, Merge("owl", ("falcon",)), "no category 'falcon'", "there are: ")
    refused(run, Split("new-003", ("photos/é.jpg", "x")), "no image", "鳥/é.jpg")
    refused(run, Split("new-001", ("ab.jpg",)), "no image 'ab.jpg'", "did you mean 'a b.jpg'")
    refused(run, Split("new-001", ("12345",)), "no image '12345'", "predictions.csv")
    with pytest.raises(UserError, match="does not hold a finished run"):
        append_edit(run / "nowhere", Name("new-001", "x"))
    with pytest.raises(UserError, match="does not hold a finished run"):
        read_edits(run / "nowhere")


def test_merging_moves_all_images_and_knows_what_is_known(run: Path) -> None:
    edit = append_edit(run, Merge("owl", ("new-001", "new-004", "new-001")))
    assert edit == Merge("owl", ("new-001", "new-004"))
    assert members(run, "owl") == ["owl/1.jpg", "owl/2.jpg", "a b.jpg", "c,d.jpg", "z.jpg"]
    assert statuses(run)["z.jpg"] == "known"
    assert "new-001, new-004 merged into 'owl' (now 5 images)" in summary_line(run, edit)
    refused(run, Merge("owl", ("owl",)), "itself")
    refused(run, Merge("owl", ()), "nothing to merge")
    refused(run, Merge("new-003", ("owl",)), "lose its name", "legogcd merge RUN owl new-003")


def test_a_known_class_takes_its_labels_along(run: Path) -> None:
    append_edit(run, Name("new-003", "bird of prey"))
    append_edit(run, Merge("bird of prey", ("hawk",)))
    append_edit(run, Name("owl", "eagle-owl"))
    assert confirmed_labels(run) == {"owl/1.jpg": "eagle-owl", "hawk/1.jpg": "bird of prey"}
    assert statuses(run)["鳥/2.jpg"] == "known"
    assert statuses(run)["owl/2.jpg"] == "known"


def test_splitting_makes_the_next_free_group(run: Path) -> None:
    assert append_edit(run, Split("new-003", ("鳥/2.jpg",))) == Split("new-003", ("鳥/2.jpg",), "new-005")
    append_edit(run, Name("new-005", "finch"))
    assert append_edit(run, Split("new-001", ("./a b.jpg",))) == Split("new-001", ("a b.jpg",), "new-006")
    append_edit(run, Undo())
    assert append_edit(run, Split("new-001", ("c,d.jpg",))).into == "new-006"  # type: ignore[union-attr]
    assert categories(run)["c,d.jpg"] == "new-006"
    assert categories(run)["a b.jpg"] == "new-001"


def test_splitting_into_a_name_and_into_what_is_there(run: Path) -> None:
    edit = append_edit(run, Split("new-003", ("鳥/2.jpg", "鳥/2.jpg"), " finch "))
    assert edit == Split("new-003", ("鳥/2.jpg",), "finch")
    edit = append_edit(run, Split("owl", ("owl/2.jpg",), "finch"))
    assert "1 image moved from 'owl' to 'finch' (now 2 images)" in summary_line(run, edit)
    assert members(run, "finch") == ["owl/2.jpg", "鳥/2.jpg"]
    refused(run, Split("new-003", ("z.jpg",)), "'z.jpg' is in new-004, not in new-003")
    refused(run, Split("new-003", ("鳥/3.jpg",), "new-003"), "already")
    refused(run, Split("new-003", ("鳥/3.jpg",), "new-099"), "new-099", "kept for groups")
    refused(run, Split("new-003", ("鳥/3.jpg", "鳥/é.jpg")), "all images of new-003", "merge")
    refused(run, Split("new-003", ()), "no image was given")


def test_confirmed_images_are_labels_through_names_and_merges_until_they_are_split_off(run: Path) -> None:
    edit = append_edit(run, confirmation(run, ["new-003"], ["a b.jpg"]))
    assert edit == Confirm({"new-001": ("a b.jpg",), "new-003": ("鳥/é.jpg", "鳥/2.jpg", "鳥/3.jpg")})
    assert "still to be named: new-001, new-003" in summary_line(run, edit)
    assert current(run)["confirmed"].sum() == 4
    with pytest.raises(UserError, match=r"new-001 has 1 confirmed image but no name.*legogcd name RUN new-001"):
        confirmed_labels(run)
    append_edit(run, Name("new-003", "snowy owl"))
    append_edit(run, Merge("owl", ("new-001",)))
    given = {"owl/1.jpg": "owl", "hawk/1.jpg": "hawk"}
    snowy = dict.fromkeys(["鳥/é.jpg", "鳥/2.jpg", "鳥/3.jpg"], "snowy owl")
    assert confirmed_labels(run) == {**given, "a b.jpg": "owl", **snowy}
    append_edit(run, Split("snowy owl", ("鳥/3.jpg",)))
    append_edit(run, Split("owl", ("owl/1.jpg",), "hawk"))
    assert confirmed_labels(run) == {
        "hawk/1.jpg": "hawk",
        "a b.jpg": "owl",
        "鳥/é.jpg": "snowy owl",
        "鳥/2.jpg": "snowy owl",
    }
    assert statuses(run)["owl/1.jpg"] == "known"


def test_confirming_leaves_out_what_has_a_label_and_refuses_what_has_moved(run: Path) -> None:
    assert append_edit(run, confirmation(run, ["owl"])) == Confirm({"owl": ("owl/2.jpg",)})
    refused(run, confirmation(run, ["owl"]), "label already")
    refused(run, Confirm({}), "no image")
    stale = confirmation(run, ["new-003"])
    append_edit(run, Split("new-003", ("鳥/2.jpg",)))
    refused(run, stale, "'鳥/2.jpg' is in new-005, not in new-003")


def test_undo_goes_back_edit_by_edit(run: Path) -> None:
    refused(run, Undo(), "no edit to take back")
    append_edit(run, Name("new-001", "finch"))
    append_edit(run, Merge("owl", ("finch",)))
    undone = append_edit(run, Undo())
    assert undone == Undo(2)
    assert summary_line(run, undone) == "took back edit 2: merge 'finch' into 'owl'"
    assert len(members(run, "finch")) == 2
    refused(run, Undo(2), "edit 2 is not the last one in force, which is 1")
    append_edit(run, Confirm({"new-004": ("z.jpg",)}))
    assert append_edit(run, Undo()) == Undo(4)
    assert append_edit(run, Undo()) == Undo(1)
    refused(run, Undo(), "no edit to take back")
    pd.testing.assert_frame_equal(current(run).drop(columns="confirmed"), read_predictions(run))
    assert edit_lines(run) == [
        "   1  name new-001 'finch'  (taken back)",
        "   2  merge 'finch' into 'owl'  (taken back)",
        "   3  undo 2",
        "   4  confirm 1 image of new-004  (taken back)",
        "   5  undo 4",
        "   6  undo 1",
    ]


def test_an_image_that_is_listed_twice_cannot_be_edited(run: Path) -> None:
    with open(run / "predictions.csv", "a", encoding="utf-8") as file:
        file.write("z.jpg,owl,known,0.5000,owl\n")
    with pytest.raises(UserError, match=r"'z\.jpg' more than once"):
        current(run)


ODD_NAMES = ['the "big" one', "it's", "a,b;c", "鳥 🦉", "-1", "NA", "{}", "\\n", "new-", "New-001", "ﬁ"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_come_back_as_they_were_given(run: Path, name: str) -> None:
    append_edit(run, Name("new-003", name))
    append_edit(run, confirmation(run, [name]))
    assert categories(run)["鳥/2.jpg"] == confirmed_labels(run)["鳥/2.jpg"] == name
