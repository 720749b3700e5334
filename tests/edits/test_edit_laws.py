"""Laws of any sequence of edits and of any names."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from edited_run import ROWS, categories, members, write_run
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.csv_text import write_rows
from legogcd.edits import Confirm, Edit, Merge, Move, Name, Redo, Several, Split, Undo
from legogcd.edits.edit import from_line, to_line
from legogcd.edits.log import EditLog, replay
from legogcd.edits.reversible import Reversible
from legogcd.edits.state import State
from legogcd.errors import UserError
from legogcd.run.categories import (
    append_edit,
    confirmed_labels,
    current,
    edit_lines,
    read_edits,
    read_state,
    summary_line,
)
from legogcd.run.discovery import COLUMNS, read_predictions

NAMES = st.one_of(
    st.sampled_from(["owl", "finch", 'say "hi"', "a,b", "new-005", "x\u2029y"]), st.text(min_size=1, max_size=8)
)


@st.composite
def tried_edits(draw: st.DrawFn) -> list[tuple[str, int, list[int], str | None]]:
    """Kinds of edits with positions among whatever there is when they are tried."""
    one = st.tuples(
        st.sampled_from(["name", "merge", "split", "confirm", "move", "aside", "several", "undo", "redo"]),
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
    if kind == "move":
        return Move(read_state(folder).placed([ROWS[i % len(ROWS)][0] for i in others]), name)
    if kind == "aside":
        return read_state(folder).setting_aside([group] if which % 2 else [], chosen)
    if kind == "several":
        return Several((Confirm({group: chosen}), Name(group, name or "something"), Move({}, None))[: 1 + which % 3])
    if kind == "confirm":
        return Confirm({group: chosen})
    return Undo() if kind == "undo" else Redo()


@given(plan=tried_edits())
@settings(max_examples=25, deadline=None)
def test_laws_of_any_sequence_of_edits(plan, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = write_run(tmp_path_factory.mktemp("law"))
    twin = write_run(tmp_path_factory.mktemp("twin"))
    found = (folder / "predictions.csv").read_bytes()
    states, taken_back = [current(folder)], []  # after each edit in force, and after each that was taken back
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
            taken_back.append(states.pop())
            pd.testing.assert_frame_equal(current(folder), states[-1])
        elif isinstance(edit, Redo):
            states.append(taken_back.pop())
            pd.testing.assert_frame_equal(current(folder), states[-1])
        else:
            states.append(current(folder))
            taken_back.clear()
        assert "\n" not in summary_line(folder, written)
        assert current(folder)["path"].tolist() == [row[0] for row in ROWS]
        assert (current(folder)["category"] != "").all()
    pd.testing.assert_frame_equal(current(folder), states[-1])
    pd.testing.assert_frame_equal(current(twin), states[-1])
    for state in reversed(states[:-1]):
        append_edit(folder, Undo())
        pd.testing.assert_frame_equal(current(folder), state)
    assert (folder / "predictions.csv").read_bytes() == found


def everything_in(state: State) -> dict[str, object]:
    return {name: value for name, value in vars(state).items() if name not in ("_table", "_changes")}


@pytest.mark.parametrize("most_remembered", [500_000, 12])
def test_following_the_log_arrives_where_a_replay_from_the_start_does(most_remembered, monkeypatch, tmp_path_factory):
    monkeypatch.setattr("legogcd.edits.state.Reversible", partial(Reversible, most_remembered))

    @given(plan=tried_edits())
    @settings(max_examples=40, deadline=None)
    def follow(plan) -> None:
        folder = write_run(tmp_path_factory.mktemp("law"))
        table = read_predictions(folder)
        followed = EditLog(folder / "edits.jsonl", lambda: State(table))
        reader = EditLog(folder / "edits.jsonl", lambda: State(table))
        for number, (kind, which, others, name) in enumerate(plan):
            try:
                followed.append(as_edit(folder, kind, which, others, name))
            except UserError:
                continue
            fresh = replay(State(table), EditLog(folder / "edits.jsonl", lambda: State(table)).edits())
            assert everything_in(followed.state()) == everything_in(fresh)
            if number % 3 == 0:  # somebody who looks now and then, and takes in several edits at once
                assert everything_in(reader.state()) == everything_in(fresh)

    follow()


def test_of_many_edits_each_is_read_and_replayed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_run(tmp_path / "run")
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    counts = {"parsed": 0, "applied": 0}
    parse, apply = from_line, State.apply

    def counted_parse(line: bytes, before: int = 0) -> Edit:
        counts["parsed"] += 1
        return parse(line, before)

    def counted_apply(self: State, edit) -> None:
        counts["applied"] += 1
        apply(self, edit)

    monkeypatch.setattr("legogcd.edits.log.from_line", counted_parse)
    monkeypatch.setattr(State, "apply", counted_apply)
    n_edits = 400
    for number in range(n_edits):
        append_edit(folder, Name("new-001" if number == 0 else f"bird {number - 1}", f"bird {number}"))
    for _ in range(n_edits // 2):
        append_edit(folder, Undo())
    assert members(folder, f"bird {n_edits // 2 - 1}") == ["a b.jpg", "c,d.jpg"]
    assert counts["parsed"] == n_edits * 3 // 2
    assert counts["applied"] <= n_edits


ANY_PART = st.binary(min_size=1, max_size=12).filter(lambda part: not set(part) & {0, ord("/")}).map(os.fsdecode)
ANY_PATH = st.lists(ANY_PART, min_size=1, max_size=3).map("/".join)


@given(paths=st.lists(ANY_PATH, min_size=3, max_size=6, unique=True), labels=st.lists(ANY_PART, min_size=2, max_size=2))
@settings(max_examples=60, deadline=None)
def test_any_path_and_label_survives_table_and_log(paths, labels, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("names")
    rows = [(path, "new-001", "novel", "0.5000", "new-001") for path in paths]
    rows[0] = (paths[0], labels[0], "labelled", "0.5000", labels[1])
    write_rows(folder / "predictions.csv", COLUMNS, rows)
    append_edit(folder, Split("new-001", (paths[1],), "split off"))
    append_edit(folder, Confirm({"split off": (paths[1],), labels[0]: ()}))
    append_edit(folder, Merge(labels[0], ("new-001",)))
    assert read_edits(folder)[0] == Split("new-001", (paths[1],), "split off")
    assert categories(folder) == {path: "split off" if path == paths[1] else labels[0] for path in paths}
    assert confirmed_labels(folder) == {paths[0]: labels[0], paths[1]: "split off"}
    assert current(folder)["predicted"][0] == labels[1]
    for line in edit_lines(folder):
        assert line.isprintable()
        line.encode()


ANY_TEXT = st.text() | ANY_PATH
ANY_EDIT = st.one_of(
    st.builds(Name, ANY_TEXT, ANY_TEXT),
    st.builds(Merge, ANY_TEXT, st.lists(ANY_TEXT).map(tuple)),
    st.builds(Split, ANY_TEXT, st.lists(ANY_TEXT).map(tuple), st.none() | ANY_TEXT),
    st.builds(Confirm, st.dictionaries(ANY_TEXT, st.lists(ANY_TEXT).map(tuple))),
    st.builds(Undo, st.none() | st.integers(1)),
)


@given(edit=ANY_EDIT, before=st.integers(0, 2**32 - 1))
def test_any_edit_is_one_line_that_reads_back(edit: Edit, before: int) -> None:
    line = to_line(edit, before)
    assert line.count(b"\n") == 1
    assert from_line(line[:-1], before) == edit


NEARLY_A_LINE = st.from_regex(rb'\{"format": [12], "edit": ("undo"|"name").{0,40}\}', fullmatch=True)


@given(line=st.binary(max_size=60) | NEARLY_A_LINE)
@settings(max_examples=300, deadline=None)
def test_no_line_makes_the_reader_stumble(line: bytes) -> None:
    reason = ""
    try:
        from_line(line)
    except ValueError as error:
        reason = str(error)
    assert "\n" not in reason
