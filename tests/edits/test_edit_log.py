"""edits.jsonl: its format, crashes, damage and several writers at once."""

import json
import random
import threading
import zlib
from pathlib import Path

import pandas as pd
import pytest
from edited_run import ROWS, members, refused, statuses, write_run

from legogcd.edits import Confirm, Merge, Name, Split, Undo
from legogcd.errors import UserError
from legogcd.locks import locked
from legogcd.run.categories import append_edit, current, read_edits


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "my run")


def test_the_file_is_as_documented(run: Path) -> None:
    append_edit(run, Name("new-003", "鳥"))
    append_edit(run, Merge("owl", ("new-001",)))
    append_edit(run, Split("鳥", ("鳥/2.jpg",)))
    append_edit(run, Confirm({"鳥": ("鳥/3.jpg",)}))
    append_edit(run, Undo())
    checked = [
        '{"format": 2, "edit": "name", "category": "new-003", "name": "鳥"',
        '{"format": 2, "edit": "merge", "into": "owl", "categories": ["new-001"]',
        '{"format": 2, "edit": "split", "category": "鳥", "images": ["鳥/2.jpg"], "into": "new-005"',
        '{"format": 2, "edit": "confirm", "images": {"鳥": ["鳥/3.jpg"]}',
        '{"format": 2, "edit": "undo", "of": 4',
    ]
    expected = b""
    for line in checked:
        expected += line.encode()
        expected += f', "check": "{zlib.crc32(expected):08x}"}}\n'.encode()
    assert (run / "edits.jsonl").read_bytes() == expected


def test_lines_of_format_1_are_read_and_guarded_by_what_follows(run: Path) -> None:
    log = run / "edits.jsonl"
    log.write_text('{"format": 1, "edit": "name", "category": "new-001", "name": "finch"}\n')
    append_edit(run, Merge("owl", ("finch",)))
    assert read_edits(run) == [Name("new-001", "finch"), Merge("owl", ("finch",))]
    log.write_bytes(log.read_bytes().replace(b'"finch"}', b'"Finch"}'))
    with pytest.raises(UserError, match="line 2 is not an edit: it or a line before it was changed"):
        current(run)


def test_the_documented_example_can_be_read(run: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "edits.md").read_text(encoding="utf-8")
    example = text.split("```json\n")[1].split("```")[0]
    (run / "edits.jsonl").write_text(example, encoding="utf-8")
    assert [edit.edit for edit in read_edits(run)] == [
        "name",
        "merge",
        "split",
        "confirm",
        "undo",
        "redo",
        "move",
        "aside",
    ]


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


def write_some_edits(run: Path) -> list[pd.DataFrame]:
    """A log of every kind of edit; the states after each line, before the first one too."""
    states = [current(run)]
    for edit in (
        Name("new-003", "snowy owl"),
        Merge("owl", ("new-001",)),
        Split("snowy owl", ("鳥/2.jpg",)),
        Confirm({"snowy owl": ("鳥/3.jpg",)}),
        Undo(),
        Split("owl", ("a b.jpg",), "barn owl"),
    ):
        append_edit(run, edit)
        states.append(current(run))
    return states


def damaged(log: bytes, draw: random.Random) -> bytes:
    """A byte changed, a bit flipped, some bytes lost in the middle, doubled, or an end cut off."""
    at = draw.randrange(len(log))
    until = draw.randrange(at, len(log)) + 1
    return draw.choice(
        [
            log[:at] + bytes([draw.randrange(256)]) + log[at + 1 :],
            log[:at] + bytes([log[at] ^ 1 << draw.randrange(8)]) + log[at + 1 :],
            log[:at] + log[until:],
            log[:until] + log[at:],
            log[:at],
        ]
    )


def test_damage_is_one_clear_line_and_never_another_state(run: Path) -> None:
    states = write_some_edits(run)
    log = run / "edits.jsonl"
    whole = log.read_bytes()
    draw, refusals = random.Random(0), 0
    for _ in range(600):
        content = damaged(whole, draw)
        log.write_bytes(content)
        try:
            state = current(run)
        except UserError as error:
            refusals += len(str(error).splitlines()) == 1
        else:  # only a log that was cut at its end may pass: the state after its whole lines
            assert whole.startswith(content)
            n_lines = content.count(b"\n") + (content == whole[:-1] or whole[len(content) :].startswith(b"\n"))
            pd.testing.assert_frame_equal(state, states[n_lines])
    assert refusals > 350


@pytest.mark.parametrize("lost", range(1, 6))
def test_a_line_that_is_gone_from_the_middle_is_noticed(run: Path, lost: int) -> None:
    write_some_edits(run)
    lines = (run / "edits.jsonl").read_bytes().splitlines(keepends=True)
    (run / "edits.jsonl").write_bytes(b"".join(lines[: lost - 1] + lines[lost:]))
    with pytest.raises(UserError, match=f"line {lost} is not an edit: it or a line before it was changed"):
        current(run)


def test_a_log_that_changes_under_our_eyes_is_read_again(run: Path) -> None:
    append_edit(run, Name("new-001", "finch"))
    first = (run / "edits.jsonl").read_bytes()
    append_edit(run, Name("new-003", "wren"))
    second = (run / "edits.jsonl").read_bytes()
    (run / "edits.jsonl").unlink()
    assert read_edits(run) == []
    assert len(members(run, "new-001")) == 2
    append_edit(run, Name("new-001", "heron"))
    assert members(run, "heron") == ["a b.jpg", "c,d.jpg"]
    (run / "edits.jsonl").write_bytes(second)
    assert members(run, "wren") == ["鳥/é.jpg", "鳥/2.jpg", "鳥/3.jpg"]
    (run / "edits.jsonl").write_bytes(first)
    assert len(members(run, "new-003")) == 3
    table = (run / "predictions.csv").read_text(encoding="utf-8")
    (run / "predictions.csv").write_text(table.replace("z.jpg,new-004,novel", "z.jpg,owl,known"), encoding="utf-8")
    assert statuses(run)["z.jpg"] == "known"


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
    with locked(run / "edits.jsonl.lock"):
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


def test_a_writer_leaves_no_lock_behind(run: Path) -> None:
    append_edit(run, Name("new-001", "finch"))
    refused(run, Name("new-003", "finch"), "legogcd merge")
    assert {path.name for path in run.iterdir()} == {"predictions.csv", "edits.jsonl"}


def test_a_last_line_end_that_became_another_byte_is_no_crash(run: Path) -> None:
    write_some_edits(run)
    log = run / "edits.jsonl"
    log.write_bytes(log.read_bytes()[:-1] + b"\x0b")
    with pytest.raises(UserError, match="line 6 is not an edit"):
        current(run)
