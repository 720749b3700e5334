"""Edits of a finished run: what they do, what they refuse, and that nothing is ever lost."""

import csv
import fcntl
import json
import threading
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from legogcd.cli import edits as commands
from legogcd.edits import (
    Confirm,
    Edit,
    Merge,
    Name,
    Split,
    Undo,
)
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

ROWS = [
    ("owl/1.jpg", "owl", "labelled", "owl"),
    ("owl/2.jpg", "owl", "known", "owl"),
    ("hawk/1.jpg", "hawk", "labelled", "owl"),
    ("hawk/2.jpg", "hawk", "known", "hawk"),
    ("a b.jpg", "new-001", "novel", "new-001"),
    ("c,d.jpg", "new-001", "novel", "new-001"),
    ("鳥/é.jpg", "new-003", "novel", "new-003"),
    ("鳥/2.jpg", "new-003", "novel", "new-003"),
    ("鳥/3.jpg", "new-003", "novel", "new-003"),
    ("z.jpg", "new-004", "novel", "new-004"),
]


def write_run(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "predictions.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["path", "category", "status", "confidence", "predicted"])
        writer.writerows([path, category, status, "0.5000", predicted] for path, category, status, predicted in ROWS)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "my run")


def categories(folder: Path) -> dict[str, str]:
    table = current(folder)
    return dict(zip(table["path"], table["category"], strict=True))


def members(folder: Path, category: str) -> list[str]:
    return [path for path, name in categories(folder).items() if name == category]


def statuses(folder: Path) -> dict[str, str]:
    table = current(folder)
    return dict(zip(table["path"], table["status"], strict=True))


def refused(folder: Path, edit: Edit, *parts: str) -> None:
    log = folder / "edits.jsonl"
    before = log.read_bytes() if log.exists() else None
    with pytest.raises(UserError) as error:
        append_edit(folder, edit)
    message = str(error.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message
    assert (log.read_bytes() if log.exists() else None) == before


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


def test_the_file_is_as_documented(run: Path) -> None:
    append_edit(run, Name("new-003", "鳥"))
    append_edit(run, Merge("owl", ("new-001",)))
    append_edit(run, Split("鳥", ("鳥/2.jpg",)))
    append_edit(run, Confirm({"鳥": ("鳥/3.jpg",)}))
    append_edit(run, Undo())
    assert (run / "edits.jsonl").read_text(encoding="utf-8") == (
        '{"format": 1, "edit": "name", "category": "new-003", "name": "鳥"}\n'
        '{"format": 1, "edit": "merge", "into": "owl", "categories": ["new-001"]}\n'
        '{"format": 1, "edit": "split", "category": "鳥", "images": ["鳥/2.jpg"], "into": "new-005"}\n'
        '{"format": 1, "edit": "confirm", "images": {"鳥": ["鳥/3.jpg"]}}\n'
        '{"format": 1, "edit": "undo", "of": 4}\n'
    )


def test_the_documented_example_can_be_read(run: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "edits.md").read_text(encoding="utf-8")
    example = text.split("```json\n")[1].split("```")[0]
    (run / "edits.jsonl").write_text(example, encoding="utf-8")
    assert [edit.edit for edit in read_edits(run)] == ["name", "merge", "split", "confirm", "undo"]


def test_a_line_cut_off_anywhere_is_ignored_and_then_replaced(run: Path) -> None:
    append_edit(run, Name("new-001", "finch"))
    log = run / "edits.jsonl"
    first = log.read_bytes()
    append_edit(run, Name("new-003", "Käuzchen"))
    both = log.read_bytes()
    for cut in range(len(first), len(both)):
        log.write_bytes(both[:cut])
        whole = cut == len(both) - 1  # only the line end is missing
        assert len(read_edits(run)) == (2 if whole else 1)
        append_edit(run, Merge("owl", ("new-004",)))
        assert log.read_bytes().startswith(both if whole else first)
        assert read_edits(run)[-1] == Merge("owl", ("new-004",))
        assert len(log.read_bytes().splitlines()) == (3 if whole else 2)


@pytest.mark.parametrize(
    "line",
    [
        b"{oops",
        b"",
        b"[]",
        b"\xff",
        b'{"format": 1}',
        b'{"format": 2, "edit": "undo", "of": 1}',
        b'{"format": 1, "edit": "rename", "category": "new-001"}',
        b'{"format": 1, "edit": "name", "category": "new-001"}',
        b'{"format": 1, "edit": "name", "category": "new-001", "name": 5}',
        b'{"format": 1, "edit": "undo", "of": "1"}',
        b'{"format": 1, "edit": "merge", "into": "owl", "categories": "new-001"}',
        b'{"format": 1, "edit": "split", "category": "new-003", "images": [], "int": "x"}',
    ],
)
def test_a_broken_line_is_named_by_its_number_and_nothing_is_touched(run: Path, line: bytes) -> None:
    append_edit(run, Name("new-001", "finch"))
    log = run / "edits.jsonl"
    log.write_bytes(log.read_bytes() + line + b"\n" + log.read_bytes())
    for read in (lambda: read_edits(run), lambda: current(run)):
        with pytest.raises(UserError, match="line 2 is not an edit"):
            read()
    refused(run, Name("new-003", "x"), "line 2 is not an edit")
    refused(run, Undo(), "line 2 is not an edit")


def test_a_log_that_does_not_fit_the_run_says_where_and_can_be_undone(run: Path) -> None:
    line = {"format": 1, "edit": "name", "category": "new-077", "name": "x"}
    (run / "edits.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(UserError, match="line 1 does not fit the run: there is no category 'new-077'"):
        current(run)
    append_edit(run, Undo())
    assert len(current(run)) == len(ROWS)
    with open(run / "edits.jsonl", "a") as log:
        log.write('{"format": 1, "edit": "undo", "of": 1}\n')
    with pytest.raises(UserError, match="line 3 does not fit the lines before it"):
        current(run)


def test_writers_at_the_same_time_lose_nothing_and_see_each_other(run: Path) -> None:
    def write(image: str) -> None:
        append_edit(run, Split("new-003", (image,)))

    threads = [threading.Thread(target=write, args=(image,)) for image in ("鳥/é.jpg", "鳥/2.jpg")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {edit.into for edit in read_edits(run) if isinstance(edit, Split)} == {"new-005", "new-006"}
    assert len(members(run, "new-003")) == 1


def test_a_writer_waits_for_the_one_before(run: Path) -> None:
    append_edit(run, Name("new-001", "finch"))
    with open(run / "edits.jsonl", "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        writer = threading.Thread(target=append_edit, args=(run, Name("new-003", "wren")))
        writer.start()
        writer.join(0.5)
        assert writer.is_alive()
        assert len(read_edits(run)) == 1
    writer.join()
    assert len(read_edits(run)) == 2


def test_an_edit_the_disk_did_not_take_is_not_in_the_log(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    append_edit(run, Name("new-001", "finch"))
    monkeypatch.setattr("os.fsync", full)
    refused(run, Name("new-003", "wren"), "not written", "No space left")


def test_an_image_that_is_listed_twice_cannot_be_edited(run: Path) -> None:
    with open(run / "predictions.csv", "a", encoding="utf-8") as file:
        file.write("z.jpg,owl,known,0.5000,owl\n")
    with pytest.raises(UserError, match=r"'z\.jpg' more than once"):
        current(run)


NAMES = st.one_of(
    st.sampled_from(["owl", "finch", 'say "hi"', "a,b", "new-005", "x\u2029y"]), st.text(min_size=1, max_size=8)
)


@st.composite
def tried_edits(draw: st.DrawFn) -> list[tuple[str, int, list[int], str | None]]:
    """Kinds of edits with positions among whatever there is when they are tried."""
    one = st.tuples(
        st.sampled_from(["name", "merge", "split", "confirm", "undo"]),
        st.integers(0, 30),
        st.lists(st.integers(0, 30), min_size=1, max_size=3),
        st.none() | NAMES,
    )
    return draw(st.lists(one, min_size=1, max_size=10))


def as_edit(folder: Path, kind: str, which: int, others: Sequence[int], name: str | None) -> Edit:
    groups = sorted(set(categories(folder).values()))
    group = groups[which % len(groups)]
    images = members(folder, group)
    chosen = tuple(images[i % len(images)] for i in others)
    if kind == "name":
        return Name(group, name or "something")
    if kind == "merge":
        return Merge(group, tuple(groups[i % len(groups)] for i in others))
    if kind == "split":
        return Split(group, chosen, name)
    return Confirm({group: chosen}) if kind == "confirm" else Undo()


@given(plan=tried_edits())
@settings(max_examples=25, deadline=None)
def test_laws_of_any_sequence_of_edits(plan, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = write_run(tmp_path_factory.mktemp("law"))
    twin = write_run(tmp_path_factory.mktemp("twin"))
    found = (folder / "predictions.csv").read_bytes()
    states = [current(folder)]  # after each edit in force
    for kind, which, others, name in plan:
        edit = as_edit(folder, kind, which, others, name)
        log = folder / "edits.jsonl"
        before = log.read_bytes() if log.exists() else b""
        try:
            written = append_edit(folder, edit)
        except UserError:
            assert (log.read_bytes() if log.exists() else b"") == before
            continue
        assert log.read_bytes().startswith(before)
        assert read_edits(folder)[-1] == written
        assert append_edit(twin, written) == written
        if isinstance(edit, Undo):
            states.pop()
            pd.testing.assert_frame_equal(current(folder), states[-1])
        else:
            states.append(current(folder))
        assert "\n" not in summary_line(folder, written)
        assert current(folder)["path"].tolist() == [row[0] for row in ROWS]
        assert (current(folder)["category"] != "").all()
    pd.testing.assert_frame_equal(current(folder), states[-1])
    pd.testing.assert_frame_equal(current(twin), states[-1])
    for state in reversed(states[:-1]):
        append_edit(folder, Undo())
        pd.testing.assert_frame_equal(current(folder), state)
    assert (folder / "predictions.csv").read_bytes() == found


ODD_NAMES = ['the "big" one', "it's", "a,b;c", "鳥 🦉", "-1", "NA", "{}", "\\n", "new-", "New-001", "ﬁ"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_come_back_as_they_were_given(run: Path, name: str) -> None:
    append_edit(run, Name("new-003", name))
    append_edit(run, confirmation(run, [name]))
    assert categories(run)["鳥/2.jpg"] == confirmed_labels(run)["鳥/2.jpg"] == name


app = typer.Typer()
for command in (commands.name, commands.merge, commands.split, commands.confirm, commands.undo):
    app.command()(command)


def call(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)
    if isinstance(done.exception, UserError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def test_the_commands(run: Path, tmp_path: Path) -> None:
    assert call("undo", run, "--list") == "no edits yet"
    assert call("name", run, "new-003", "snowy owl").startswith("new-003 is now 'snowy owl' (3 images); undo with:")
    assert "new-001, new-004 merged into 'owl' (now 5 images)" in call("merge", run, "owl", "new-001", "new-004")
    assert "2 images moved from 'owl' to 'wren'" in call(
        "split", run, "owl", "--images", "a b.jpg", "c,d.jpg", "--into", "wren"
    )
    (tmp_path / "list.txt").write_bytes("\ufeff鳥/2.jpg\r\n\n".encode())
    assert "to new-005" in call("split", run, "snowy owl", "--file", tmp_path / "list.txt")
    assert "2 images of 'snowy owl'" in call("confirm", run, "snowy owl")
    assert "1 image of 'wren', 1 image of 'owl'" in call("confirm", run, "--images", "z.jpg", "a b.jpg")
    assert "1 image of new-005" in call("confirm", run, "--file", tmp_path / "list.txt")
    assert call("undo", run) == "took back edit 7: confirm 1 image of new-005"
    assert [line.split()[1] for line in call("undo", run, "--list").splitlines()] == [
        *("name", "merge", "split", "split", "confirm", "confirm", "confirm", "undo")
    ]
    assert confirmed_labels(run)["a b.jpg"] == "wren"


def test_commands_with_nothing_to_work_on(run: Path, tmp_path: Path) -> None:
    for arguments in (("confirm", run), ("split", run, "owl")):
        with pytest.raises(UserError, match="no image was given"):
            call(*arguments)
    with pytest.raises(UserError, match="cannot read --file"):
        call("confirm", run, "--file", tmp_path / "missing.txt")
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(UserError, match="is empty"):
        call("split", run, "owl", "--file", tmp_path / "empty.txt")
    with pytest.raises(UserError, match="does not hold a finished run"):
        call("undo", tmp_path, "--list")
