"""The log of edits: reading it, the state that follows it, and appending to it safely."""

import contextlib
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeVar

from legogcd.edits.edit import Change, Edit, Redo, Undo, from_line, is_whole, to_line
from legogcd.edits.state import State
from legogcd.errors import UserError
from legogcd.files import sync_folder
from legogcd.locks import locked

Standing = tuple[int, Change]
"""An edit in force and its number, from 1."""

T = TypeVar("T")


@dataclass
class Standings:
    """The edits in force, and those that were taken back and can be in force again, the last one last."""

    in_force: list[Standing] = field(default_factory=list)
    taken_back: list[Standing] = field(default_factory=list)

    def copy(self) -> "Standings":
        return Standings(list(self.in_force), list(self.taken_back))

    def follow(self, number: int, edit: Edit) -> None:
        """What edit ``number`` makes of them; a new change leaves nothing to be made again."""
        match edit:
            case Undo():
                self.resolve_undo(edit)
                self.taken_back.append(self.in_force.pop())
            case Redo():
                self.resolve_redo(edit)
                self.in_force.append(self.taken_back.pop())
            case _:
                self.in_force.append((number, edit))
                self.taken_back.clear()

    def resolve_undo(self, edit: Undo) -> Undo:
        if not self.in_force:
            raise UserError("there is no edit to take back")
        last = self.in_force[-1][0]
        if edit.of not in (None, last):
            raise UserError(
                f"edit {edit.of} is not the last one in force, which is {last}; edits are taken back in turn"
            )
        return Undo(last)

    def resolve_redo(self, edit: Redo) -> Redo:
        if not self.taken_back:
            raise UserError("there is no edit to make again: none was taken back since the last one was made")
        last = self.taken_back[-1][0]
        if edit.of not in (None, last):
            raise UserError(f"edit {edit.of} is not the one that was taken back last, which is {last}")
        return Redo(last)


@dataclass
class _Read:
    """As much of a log as was read: its bytes, their CRC-32, the edits in them and which are in force."""

    content: bytes = b""
    crc: int = 0
    edits: list[Edit] = field(default_factory=list)
    standings: Standings = field(default_factory=Standings)


class EditLog:
    """A log of edits and the state after them, which follow the file: only what was added to it is read and replayed.

    ``start`` gives the state before any edit. Threads may share one; other processes append to the file as they like.
    """

    def __init__(self, path: Path, start: Callable[[], State]) -> None:
        self.path = path
        self._start = start
        self._lock = threading.RLock()
        self._read = _Read()
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

    def standings(self) -> Standings:
        """Which edits are in force, and which can be made again."""
        with self._lock:
            self._follow(_content(self.path))
            return self._read.standings.copy()

    def look(self, view: Callable[[State, int, Standings], T]) -> T:
        """What ``view`` makes of the state, the number of edits and their standings, which it must not change.

        Nothing is copied; all three belong together.
        """
        with self._lock:
            self._follow(_content(self.path))
            return view(self._current(), len(self._read.edits), self._read.standings)

    def append(self, edit: Edit, check: Callable[[State, int], None] | None = None) -> Edit:
        """Check an edit against the current state and write it to the log; returns it as it was written.

        The line is on disk when this returns. Writers wait for each other; each one sees what the others wrote.
        ``check`` is given the state and the number of edits before this one, and may refuse.
        """
        if not self.path.exists():
            with self._lock:
                self._follow(b"")
                self._resolve(edit)  # a refused edit leaves no empty log behind
        with _alone_with(self.path) as file, self._lock:
            content = file.read()
            self._follow(content)
            if check is not None:
                check(self._current(), len(self._read.edits))
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
            known, self._state = _Read(), None
        self._read = _read_on(self.path, known, content)

    def _current(self) -> State:
        """The state after the edits in force, from the one before by taking back and applying what differs."""
        wanted = self._read.standings.in_force
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
        wanted = self._read.standings.in_force
        while self._applied and self._applied[-1:] != wanted[len(self._applied) - 1 : len(self._applied)]:
            if not self._state.revert():
                return False
            self._applied.pop()
        return True

    def _resolve(self, edit: Edit) -> Edit:
        if isinstance(edit, Undo):  # needs no state, so that it can take back an edit that does not fit
            return self._read.standings.resolve_undo(edit)
        if isinstance(edit, Redo):
            return self._read.standings.resolve_redo(edit)
        return self._current().resolve(edit)


def in_force(edits: Sequence[Edit]) -> list[Standing]:
    """The edits that are not taken back, with their numbers from 1."""
    standings = Standings()
    for number, edit in enumerate(edits, start=1):
        _stand(standings, number, edit)
    return standings.in_force


def replay(state: State, edits: Sequence[Edit]) -> State:
    """The state after the edits that are in force, all from the start: what `EditLog.state` arrives at in steps."""
    for _, edit in in_force(edits):
        state.apply(state.resolve(edit))
    return state


def _stand(standings: Standings, number: int, edit: Edit) -> None:
    try:
        standings.follow(number, edit)
    except UserError as error:
        raise UserError(f"edits.jsonl line {number} does not fit the lines before it: {error}") from None


def _read_on(path: Path, known: _Read, content: bytes) -> _Read:
    """What is known, and the lines of ``content`` after it; a last line that a crash cut off is left out."""
    new = content[len(known.content) :]
    *lines, rest = new.split(b"\n")  # not splitlines: names may hold other characters that end a line in Unicode
    edits, standings, crc = list(known.edits), known.standings.copy(), known.crc
    for line in lines:
        edit = _parsed(path, line, crc, len(edits) + 1)
        edits.append(edit)
        _stand(standings, len(edits), edit)
        crc = zlib.crc32(line + b"\n", crc)
    whole = len(content) - len(rest)
    if rest and _is_an_edit(rest, crc):  # it only lacks its line end
        edits.append(from_line(rest, crc))
        _stand(standings, len(edits), edits[-1])
        crc, whole = zlib.crc32(rest, crc), len(content)
    elif is_whole(rest):
        _parsed(path, rest, crc, len(edits) + 1)
    return _Read(content[:whole], crc, edits, standings)


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
