"""The log of edits: reading it, replaying it, and appending to it safely."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from legogcd.edits.edit import Change, Edit, Undo, from_line, to_line
from legogcd.edits.state import State
from legogcd.errors import UserError

if sys.platform != "win32":
    import fcntl


def read_log(path: Path) -> list[Edit]:
    """The whole log, edits that were taken back too; number n is line n. A last line cut off by a crash is left out."""
    return _parse(path, path.read_bytes())[0] if path.exists() else []


def in_force(edits: Sequence[Edit]) -> list[tuple[int, Change]]:
    """The edits that are not taken back, with their numbers from 1."""
    standing: list[tuple[int, Change]] = []
    for number, edit in enumerate(edits, start=1):
        if not isinstance(edit, Undo):
            standing.append((number, edit))
        else:
            try:
                _resolve_undo(edit, standing)
            except UserError as error:
                raise UserError(f"edits.jsonl line {number} does not fit the lines before it: {error}") from None
            standing.pop()
    return standing


def append_to_log(path: Path, edit: Edit, start: Callable[[], State]) -> Edit:
    """Check an edit against the current state and write it to the log; returns it as it was written.

    ``start`` gives the state before any edit. The line is on disk when this returns. Writers wait for each other;
    each one sees what the others wrote.
    """
    if not path.exists():
        _resolve(start, edit, [])  # a refused edit leaves no empty log behind
    with _locked(path) as file:
        content = file.read()
        edits, whole = _parse(path, content)
        resolved = _resolve(start, edit, edits)
        if whole < len(content):
            file.truncate(whole)
        line = to_line(resolved)
        _write(file, line if content[:whole].endswith(b"\n") or not whole else b"\n" + line, whole)
    return resolved


def _parse(path: Path, content: bytes) -> tuple[list[Edit], int]:
    """The edits, and how many bytes hold them: what follows is a line that a crash cut off."""
    *lines, rest = content.split(b"\n")  # not splitlines: names may hold other characters that end a line in Unicode
    edits = []
    for number, line in enumerate(lines, start=1):
        try:
            edits.append(from_line(line))
        except ValueError as error:
            raise UserError(
                f"{path} line {number} is not an edit: {error}; correct or remove that line, nothing else was touched"
            ) from None
    try:  # a whole edit that only lacks its line end counts
        return [*edits, from_line(rest)], len(content)
    except ValueError:
        return edits, len(content) - len(rest)


def replay(state: State, edits: Sequence[Edit]) -> State:
    """The state after the edits that are in force."""
    for number, edit in in_force(edits):
        try:
            state.apply(state.resolve(edit))
        except UserError as error:
            raise UserError(f"edits.jsonl line {number} does not fit the run: {error}") from None
    return state


def _resolve(start: Callable[[], State], edit: Edit, before: Sequence[Edit]) -> Edit:
    if isinstance(edit, Undo):  # needs no replay, so that it can take back an edit that does not fit
        return _resolve_undo(edit, in_force(before))
    return replay(start(), before).resolve(edit)


def _resolve_undo(edit: Undo, standing: Sequence[tuple[int, Change]]) -> Undo:
    if not standing:
        raise UserError("there is no edit to take back")
    last = standing[-1][0]
    if edit.of not in (None, last):
        raise UserError(f"edit {edit.of} is not the last one in force, which is {last}; edits are taken back in turn")
    return Undo(last)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """The log, open to read and append, while no other writer has it."""
    with _opened(path) as file:
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # a file system without locks still appends each line at once
                fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file


def _opened(path: Path) -> BinaryIO:
    try:
        return open(path, "a+b", buffering=0)
    except OSError as error:
        raise UserError(f"cannot write to {path}: {error.strerror}") from None


def _write(file: BinaryIO, line: bytes, whole: int) -> None:
    """One write to the end of the file and to the disk; on failure the log is as long as before."""
    try:
        if file.write(line) != len(line):
            raise OSError(28, "No space left on device")
        os.fsync(file.fileno())
    except OSError as error:
        with contextlib.suppress(OSError):
            file.truncate(whole)
        raise UserError(f"the edit was not written: {error.strerror}") from None
