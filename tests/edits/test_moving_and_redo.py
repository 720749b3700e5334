"""Moving images, setting them aside, several edits as one, and redo."""

from pathlib import Path

import pytest
from edited_run import ROWS, categories, members, refused, statuses, write_run

from legogcd.edits import ASIDE, Aside, Confirm, Merge, Move, Name, Redo, Several, Split, Undo
from legogcd.run.categories import Categories, append_edit, confirmed_labels, current, edit_lines, setting_aside


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


def test_a_move_takes_images_of_several_categories_and_confirms_them_under_a_name(run: Path) -> None:
    append_edit(run, Move({"owl": ("owl/1.jpg",), "new-001": ("a b.jpg",), "hawk": ("hawk/2.jpg",)}, "hawk"))
    assert members(run, "hawk") == ["owl/1.jpg", "hawk/1.jpg", "hawk/2.jpg", "a b.jpg"]
    assert confirmed_labels(run) == {"owl/1.jpg": "hawk", "hawk/1.jpg": "hawk", "a b.jpg": "hawk"}
    append_edit(run, Undo())
    assert categories(run) == {path: category for path, category, _, _ in ROWS}
    assert confirmed_labels(run) == {"owl/1.jpg": "owl", "hawk/1.jpg": "hawk"}


def test_a_move_to_a_group_without_a_name_settles_nothing(run: Path) -> None:
    written = append_edit(run, Move({"owl": ("owl/1.jpg",), "new-001": ("a b.jpg",)}))
    assert written == Move({"owl": ("owl/1.jpg",), "new-001": ("a b.jpg",)}, "new-005")
    assert confirmed_labels(run) == {"hawk/1.jpg": "hawk"}
    assert statuses(run)["owl/1.jpg"] == "novel"


def test_a_group_moved_as_a_whole_takes_its_prototype_along(run: Path) -> None:
    """As a merge would: pictures like those that were moved are predicted as what they were moved to."""
    append_edit(run, Move({"new-001": ("a b.jpg", "c,d.jpg")}, "finch"))
    names = Categories.of_run(run, ["owl", "hawk"], 6).names
    assert names == ("owl", "hawk", "finch", "new-002", "new-003", "new-004")
    append_edit(run, Move({"new-003": ("鳥/é.jpg",)}, "finch"))
    assert "new-003" in Categories.of_run(run, ["owl", "hawk"], 6).names


def test_what_is_set_aside_is_rejected_and_no_label(run: Path) -> None:
    append_edit(run, setting_aside(run, ["new-003"], ["owl/1.jpg"]))
    table = current(run).set_index("path")
    assert table[table["status"] == "rejected"].index.tolist() == ["owl/1.jpg", "鳥/é.jpg", "鳥/2.jpg", "鳥/3.jpg"]
    assert set(table.loc[table["status"] == "rejected", "category"]) == {ASIDE}
    assert confirmed_labels(run) == {"hawk/1.jpg": "hawk"}
    found = Categories.of_run(run, ["owl", "hawk"], 6)
    assert dict(zip(found.names, found.status, strict=True)) == {
        "owl": "known",
        "hawk": "known",
        "new-001": "novel",
        "new-002": "novel",
        ASIDE: "rejected",
        "new-004": "novel",
    }
    append_edit(run, Move({ASIDE: ("owl/1.jpg",)}, "owl"))
    assert statuses(run)["owl/1.jpg"] == "known"
    assert confirmed_labels(run)["owl/1.jpg"] == "owl"


def test_what_is_set_aside_cannot_be_named_merged_or_confirmed(run: Path) -> None:
    append_edit(run, Aside({"new-001": ("a b.jpg",)}))
    refused(run, Name(ASIDE, "junk"), "move images out of it")
    refused(run, Merge("owl", (ASIDE,)), "move images out of it")
    refused(run, Merge(ASIDE, ("owl",)), "move images out of it")
    refused(run, Confirm({ASIDE: ("a b.jpg",)}), "move images out of it")
    refused(run, Name("new-003", ASIDE), "kept for")
    refused(run, Split("new-003", ("鳥/é.jpg",), ASIDE), "kept for")
    refused(run, Move({"new-003": ("鳥/é.jpg",)}, ASIDE), "kept for")
    refused(run, Aside({ASIDE: ("a b.jpg",)}), "already")
    refused(run, Aside({}), "no image")


def test_a_class_that_is_called_so_in_the_run_stays_a_class(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    path = run / "predictions.csv"
    path.write_text(path.read_text().replace("hawk,", f"{ASIDE},").replace(",hawk\n", f",{ASIDE}\n"))
    assert statuses(run)["hawk/1.jpg"] == "labelled"
    refused(run, Aside({"owl": ("owl/1.jpg",)}), "of its own")
    append_edit(run, Name(ASIDE, "hawk"))
    assert members(run, "hawk") == ["hawk/1.jpg", "hawk/2.jpg"]


def test_moves_that_move_nothing_or_from_elsewhere_are_refused(run: Path) -> None:
    refused(run, Move({}, "owl"), "no image")
    refused(run, Move({"owl": ("owl/1.jpg",)}, "owl"), "already")
    refused(run, Move({"hawk": ("owl/1.jpg",)}, "finch"), "'owl/1.jpg' is in 'owl'")
    refused(run, Move({"hawk": ("owl/9.jpg",)}, "finch"), "no image")
    refused(run, Move({"owl": ("owl/1.jpg",)}, "new-009"), "kept for")


def test_several_edits_are_made_and_taken_back_as_one(run: Path) -> None:
    edit = Several((Name("new-001", "finch"), Confirm({"finch": ("a b.jpg",)}), Split("new-003", ("鳥/é.jpg",))), "all")
    assert append_edit(run, edit) == Several((*edit.edits[:2], Split("new-003", ("鳥/é.jpg",), "new-005")), "all")
    assert confirmed_labels(run)["a b.jpg"] == "finch"
    assert members(run, "new-005") == ["鳥/é.jpg"]
    append_edit(run, Undo())
    assert categories(run) == {path: category for path, category, _, _ in ROWS}


def test_of_several_edits_one_that_does_not_fit_refuses_all(run: Path) -> None:
    refused(run, Several((Name("new-001", "finch"), Name("new-001", "wren"))), "is now 'finch'")
    refused(run, Several(()), "nothing")
    assert "finch" not in categories(run).values()


def test_redo_makes_again_what_was_taken_back_until_something_new_is_done(run: Path) -> None:
    for name in ("a", "b", "c"):
        append_edit(run, Move({"owl": ("owl/2.jpg",)} if name == "a" else {chr(ord(name) - 1): ("owl/2.jpg",)}, name))
    for _ in range(3):
        append_edit(run, Undo())
    assert append_edit(run, Redo()) == Redo(1)
    assert append_edit(run, Redo()) == Redo(2)
    assert categories(run)["owl/2.jpg"] == "b"
    append_edit(run, Undo())
    append_edit(run, Redo())
    assert categories(run)["owl/2.jpg"] == "b"
    append_edit(run, Name("hawk", "kite"))
    refused(run, Redo(), "no edit to make again")
    assert [line.split("  ")[-1] for line in edit_lines(run)[:3]][2] == "(taken back)"
    assert "(taken back)" not in "".join(edit_lines(run)[:2])


def test_the_commands_aside_and_redo(run: Path, run_cli) -> None:
    assert "4 images" not in run_cli("aside", run, "new-001").stdout
    assert statuses(run)["a b.jpg"] == "rejected"
    assert run_cli("aside", run, "--images", "owl/1.jpg", "z.jpg").exit_code == 0
    assert statuses(run)["z.jpg"] == "rejected"
    assert "took back" in run_cli("undo", run).stdout
    assert "made edit 2 again" in run_cli("redo", run).stdout
    assert statuses(run)["z.jpg"] == "rejected"
    assert run_cli("redo", run).exit_code == 2
