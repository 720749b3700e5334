"""The log of edits: reading it, the state that follows it, and appending to it safely."""

import contextlib
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from legogcd.edits.edit import Change, Edit, Undo, from_line, is_whole, to_line
from legogcd.edits.state import State
from legogcd.errors import UserError
from legogcd.files import sync_folder
from legogcd.locks import locked

Standing = tuple[int, Change]
"""An edit in force and its number, from 1."""


@dataclass
class _Read:
    """As much of a log as was read: its bytes, their CRC-32, the edits in them and those in force."""

    content: bytes
    crc: int
    edits: list[Edit]
    in_force: list[Standing]


class EditLog:
    """A log of edits and the state after them, which follow the file: only what was added to it is read and replayed.

    ``start`` gives the state before any edit. Threads may share one; other processes append to the file as they like.
    """

    def __init__(self, path: Path, start: Callable[[], State]) -> None:
        self.path = path
        self._start = start
        self._lock = threading.RLock()
        self._read = _Read(b"", 0, [], [])
        self._state: State | None = None
        self._applied: list[Standing] = []

    def edits(self) -> list[Edit]:
        """The whole log, edits that were taken back too; number n is line n.

        A last line cut off by a crash is left out.
        """
        with self._lock:
            self._follow(_content(self.path))
            return list(self._read.edits)

    def state(self) -> State:
        """Where every image is after the edits; a copy, which later edits do not change."""
        with self._lock:
            self._follow(_content(self.path))
            return self._current().copy()

    def append(self, edit: Edit) -> Edit:
        """Check an edit against the current state and write it to the log; returns it as it was written.

        The line is on disk when this returns. Writers wait for each other; each one sees what the others wrote.
        """
        if not self.path.exists():
            with self._lock:
                self._follow(b"")
                self._resolve(edit)  # a refused edit leaves no empty log behind
        with _alone_with(self.path) as file, self._lock:
            content = file.read()
            self._follow(content)
            resolved = self._resolve(edit)
            whole = len(self._read.content)
            ended = b"" if not whole or self._read.content.endswith(b"\n") else b"\n"
            line = ended + to_line(resolved, zlib.crc32(ended, self._read.crc))
            if whole < len(content):
                file.truncate(whole)
            _write(file, line, whole)
            self._follow(self._read.content + line)
        return resolved

    def _follow(self, content: bytes) -> None:
        """Take in a content of the file: what comes after the part that is known, or all where that part changed."""
        known = self._read
        if not (content.startswith(known.content) and known.content[-1:] in (b"", b"\n")):
            known, self._state = _Read(b"", 0, [], []), None
        self._read = _read_on(self.path, known, content)

    def _current(self) -> State:
        """The state after the edits in force, from the one before by taking back and applying what differs."""
        wanted = self._read.in_force
        if self._state is None or not self._step_back():
            self._state, self._applied = self._start(), []
        for number, edit in wanted[len(self._applied) :]:
            try:
                self._state.apply(self._state.resolve(edit))
            except UserError as error:
                raise UserError(f"edits.jsonl line {number} does not fit the run: {error}") from None
            self._applied.append((number, edit))
        return self._state

    def _step_back(self) -> bool:
        """Take back what is no longer in force; below an edit that still is, everything is."""
        assert self._state is not None
        wanted = self._read.in_force
        while self._applied and self._applied[-1:] != wanted[len(self._applied) - 1 : len(self._applied)]:
            if not self._state.revert():
                return False
            self._applied.pop()
        return True

    def _resolve(self, edit: Edit) -> Edit:
        if isinstance(edit, Undo):  # needs no state, so that it can take back an edit that does not fit
            return _resolve_undo(edit, self._read.in_force)
        return self._current().resolve(edit)


def in_force(edits: Sequence[Edit]) -> list[Standing]:
    """The edits that are not taken back, with their numbers from 1."""
    standing: list[Standing] = []
    for number, edit in enumerate(edits, start=1):
        _stand(standing, number, edit)
    return standing


def replay(state: State, edits: Sequence[Edit]) -> State:
    """The state after the edits that are in force, all from the start: what `EditLog.state` arrives at in steps."""
    for _, edit in in_force(edits):
        state.apply(state.resolve(edit))
    return state


def _stand(standing: list[Standing], number: int, edit: Edit) -> None:
    if not isinstance(edit, Undo):
        standing.append((number, edit))
        return
    try:
        _resolve_undo(edit, standing)
    except UserError as error:
        raise UserError(f"edits.jsonl line {number} does not fit the lines before it: {error}") from None
    standing.pop()


def _read_on(path: Path, known: _Read, content: bytes) -> _Read:
    """What is known, and the lines of ``content`` after it; a last line that a crash cut off is left out."""
    new = content[len(known.content) :]
    *lines, rest = new.split(b"\n")  # not splitlines: names may hold other characters that end a line in Unicode
    edits, standing, crc = list(known.edits), list(known.in_force), known.crc
    for line in lines:
        edit = _parsed(path, line, crc, len(edits) + 1)
        edits.append(edit)
        _stand(standing, len(edits), edit)
        crc = zlib.crc32(line + b"\n", crc)
    whole = len(content) - len(rest)
    if rest and _is_an_edit(rest, crc):  # it only lacks its line end
        edits.append(from_line(rest, crc))
        _stand(standing, len(edits), edits[-1])
        crc, whole = zlib.crc32(rest, crc), len(content)
    elif is_whole(rest):
        _parsed(path, rest, crc, len(edits) + 1)
    return _Read(content[:whole], crc, edits, standing)


def _parsed(path: Path, line: bytes, crc: int, number: int) -> Edit:
    try:
        return from_line(line, crc)
    except ValueError as error:
        raise UserError(
            f"{path} line {number} is not an edit: {error}; "
            "put back a copy of the file or mend it as docs/edits.md says, nothing was touched"
        ) from None


def _is_an_edit(line: bytes, crc: int) -> bool:
    try:
        from_line(line, crc)
    except ValueError:
        return False
    return True


def _resolve_undo(edit: Undo, standing: Sequence[Standing]) -> Undo:
    if not standing:
        raise UserError("there is no edit to take back")
    last = standing[-1][0]
    if edit.of not in (None, last):
        raise UserError(f"edit {edit.of} is not the last one in force, which is {last}; edits are taken back in turn")
    return Undo(last)


@contextlib.contextmanager
def _alone_with(path: Path) -> Iterator[BinaryIO]:
    """The log, open to read and append, while no other writer has it."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UserError(f"{path} is a link or no file, and may lead anywhere; put the log itself in its place")
    try:
        with locked(path.with_name(f"{path.name}.lock"), remove=True):
            is_new = not path.exists()
            with open(path, "a+b", buffering=0) as file:
                if is_new:
                    sync_folder(path.parent)
                file.seek(0)
                yield file
    except OSError as error:
        raise UserError(f"cannot write to {path}: {error.strerror}") from None


def _content(path: Path) -> bytes:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UserError(f"{path} is a link or no file; remove it")  # a pipe would let everybody wait
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


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
