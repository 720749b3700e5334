"""A run that is being worked on: its table, its pictures, and its edits from this page and from anywhere else."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from legogcd.edits.edit import Change, Confirm, Edit, Merge, Move, Name, Redo, Several, Split, Undo
from legogcd.edits.names import find_spelled
from legogcd.edits.phrases import described, outcome_line
from legogcd.edits.state import State
from legogcd.errors import UserError
from legogcd.imports import import_decisions
from legogcd.review.requests import ConfirmThem, MergeGroups, MoveImages, NameGroup, SetAside, SplitGroup, Wish
from legogcd.review.snapshot import Snapshot
from legogcd.run.categories import Categories, log_of
from legogcd.run.config import RunConfig, read_config
from legogcd.run.thresholds import unsure_below
from legogcd.run.trust import FilesBelow, trusted_root

_REMEMBERED = 1000  # edits of which it is known what they changed


class ChangedMeanwhile(UserError):  # noqa: N818 - it names what happened
    """The edit is about something that somebody else changed since the page saw it."""


class NameTaken(UserError):  # noqa: N818 - it names what happened
    """There is a group of that name already; ``group`` is how it is spelled."""

    def __init__(self, group: str) -> None:
        super().__init__(f"there is a group {group!r} already; merge them to make them one")
        self.group = group


class _Stale(Exception):  # noqa: N818
    """An edit came in between."""


@dataclass(frozen=True)
class _Changed:
    """What an edit changed."""

    version: int  # after it
    images: np.ndarray
    groups: set[str]


@dataclass(frozen=True)
class Location:
    """Where a run and what belongs to it are; None is what the run itself says, where that may be trusted."""

    run: Path
    images: Path | None = None
    backbone: str | None = None
    cache: Path | None = None
    vocabulary: Path | None = None  # names to suggest, for a backbone with a text tower


class Workspace:
    """Threads may share one; other processes may append edits as they like."""

    def __init__(self, location: Location) -> None:
        self.location, self.run = location, location.run
        self.config: RunConfig = read_config(self.run)
        self._log = log_of(self.run)
        table = self._log.look(lambda state, *_: state.predictions)
        self.names: list[str] = table["path"].tolist()
        self.predicted: list[str] = table["predicted"].tolist()
        self.confidence: np.ndarray = table["confidence"].to_numpy(float)
        self.files = FilesBelow(trusted_root(self.run, self.config, location.images), tuple(self.names))
        self.unsure: np.ndarray = self.confidence < unsure_below(self.run)
        self._row = {name: number for number, name in enumerate(self.names)}
        self._lock = threading.RLock()
        self._history: deque[_Changed] = deque()
        self._seen: tuple[int, ...] | None = None
        self._snapshot = self._look()
        self._remembered_from = self._snapshot.version

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def title(self) -> str:
        return self.config.name or self.run.resolve().name

    def now(self) -> Snapshot:
        """The run after all edits, those that others made too."""
        with self._lock:
            if self._file_state() != self._seen:
                after = self._look()
                if after.version != self._snapshot.version:
                    self._history.append(_Changed(after.version, *after.changed_since(self._snapshot)))
                if len(self._history) > _REMEMBERED:
                    self._remembered_from = self._history.popleft().version
                self._snapshot = after
            return self._snapshot

    def edit(self, wish: Wish, seen: int) -> str:
        """Carry out what the page wants, which had seen ``seen`` edits; it is on the disk when this returns.

        The answer says what was done. `ChangedMeanwhile` where somebody else changed what the edit is about.
        """
        with self._lock:
            while True:
                now = self.now()
                self._check_unchanged(wish, seen, now)
                try:
                    return self._append(self.change(wish, now), now.version)
                except _Stale:
                    continue

    def import_text(self, name: str, text: str) -> str:
        """Take over what a file of another tool says, as one edit."""
        with self._lock:
            while True:
                version = self.now().version
                found = self._log.look(lambda state, *_: import_decisions(state, name, text))
                try:
                    self._append(found.edit, version)
                except _Stale:
                    continue
                return "; ".join(found.lines())

    def back(self, edit: Undo | Redo, seen: int | None) -> str:
        """Take the last edit back, or make it again; with ``seen`` only if there was no other since."""
        with self._lock:
            if seen is not None and seen != self.now().version:
                raise ChangedMeanwhile("somebody else edited this run meanwhile; look again before you take it back")
            return self._append(edit, seen)

    def change(self, wish: Wish, now: Snapshot) -> Change:
        """What the page wants as an edit of the log."""
        match wish:
            case NameGroup():
                taken = find_spelled(wish.name, now.groups)
                if taken is not None and taken != wish.group:
                    raise NameTaken(taken)
                return self._and_confirm(Name(wish.group, wish.name), wish.name, wish.confirm)
            case MergeGroups():
                return self._and_confirm(Merge(wish.into, tuple(wish.groups)), wish.into, wish.confirm)
            case SplitGroup():
                return self._split(wish, now)
            case MoveImages():
                return self._on_state(lambda state: Move(state.placed(self.paths(wish.images)), wish.into))
            case ConfirmThem():
                return self._on_state(lambda state: state.confirmation(wish.groups, self.paths(wish.images)))
            case SetAside():
                return self._on_state(lambda state: state.setting_aside(wish.groups, self.paths(wish.images)))

    def categories(self) -> Categories:
        """What the model's prototypes stand for now."""
        return Categories.of_run(self.run, self.config.known, self.config.n_classes)

    def paths(self, ids: Iterable[int]) -> list[str]:
        return [self.names[self.checked(number)] for number in ids]

    def checked(self, number: int) -> int:
        """An image's id, if there is such an image."""
        if not 0 <= number < len(self.names):
            raise UserError(f"there is no image {number}; ids go from 0 to {len(self.names) - 1}")
        return number

    def group_number(self, name: str, now: Snapshot) -> int:
        """The number of a group by its name."""
        found = find_spelled(name, now.groups)
        if found is None:
            raise ChangedMeanwhile(f"there is no group {name!r} any more")
        return now.place[found]

    def _and_confirm(self, edit: Name | Merge, group: str, images: Sequence[int]) -> Change:
        """An edit, and with it that images are right in the group they are in after it."""
        return Several((edit, Confirm({group: tuple(self.paths(images))}))) if images else edit

    def _split(self, wish: SplitGroup, now: Snapshot) -> Change:
        parts = [part for part in wish.parts if part]
        whole = sum(map(len, parts)) == len(now.members(self.group_number(wish.group, now)))
        leaving = parts[1:] if whole else parts
        if not leaving:
            raise UserError("one part is no split; give two or more")
        edits = tuple(Split(wish.group, tuple(self.paths(part))) for part in leaving)
        return edits[0] if len(edits) == 1 else Several(edits, f"split {wish.group}")

    def _on_state(self, make: Callable[[State], Change]) -> Change:
        return self._log.look(lambda state, *_: make(state))

    def _append(self, edit: Edit, expected: int | None) -> str:
        def check(_: State, version: int) -> None:
            if expected is not None and version != expected:
                raise _Stale

        written = self._log.append(edit, check)
        self.now()
        if isinstance(written, Undo | Redo):
            assert written.of is not None
            verb = "took back" if isinstance(written, Undo) else "made again"
            return f"{verb}: {described(self._log.edits()[written.of - 1])}"
        return self._log.look(lambda state, *_: outcome_line(written, state))

    def _check_unchanged(self, wish: Wish, seen: int, now: Snapshot) -> None:
        if seen == now.version:
            return
        if not self._remembered_from <= seen < now.version:
            raise ChangedMeanwhile("the page shows an older state than is remembered; look again")
        groups, images = _about(wish)
        for change in (change for change in self._history if change.version > seen):
            touched = groups & change.groups
            if touched:
                raise ChangedMeanwhile(f"{sorted(touched)[0]!r} was changed meanwhile; look at it again")
            if len(images) and np.isin(images, change.images).any():
                raise ChangedMeanwhile("some of these images were moved meanwhile; look at them again")

    def _file_state(self) -> tuple[int, ...]:
        try:
            status = self._log.path.stat()
        except OSError:
            return ()
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _look(self) -> Snapshot:
        self._seen = self._file_state()  # before reading: what comes later is read next time
        return self._log.look(lambda state, version, stand: Snapshot.of(state, version, stand, self._row))


def _about(wish: Wish) -> tuple[set[str], Sequence[int]]:
    """The groups and the images an edit names."""
    match wish:
        case NameGroup():
            return {wish.group}, ()
        case MergeGroups():
            return {wish.into, *wish.groups}, ()
        case SplitGroup():
            return {wish.group}, ()
        case MoveImages():
            return set(), wish.images
        case ConfirmThem() | SetAside():
            return set(wish.groups), wish.images
