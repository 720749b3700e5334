"""A run after the edits as arrays: which group every image is in, and what a person settled."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from legogcd.collection.group_names import group_number
from legogcd.edits.log import Standings
from legogcd.edits.phrases import described
from legogcd.edits.state import State


@dataclass(frozen=True, eq=False)
class Snapshot:
    """N images in G groups after ``version`` edits."""

    version: int
    groups: tuple[str, ...]
    known: np.ndarray  # [G] bool
    aside: int | None  # which group holds what was set aside
    group: np.ndarray  # [N] where each image is
    labelled: np.ndarray  # [N] bool; given to the run
    confirmed: np.ndarray  # [N] bool
    undo: str | None  # what would be taken back
    redo: str | None  # what would be made again

    @classmethod
    def of(cls, state: State, version: int, standings: Standings, row: Mapping[str, int]) -> "Snapshot":
        """``row`` is the place of every image in predictions.csv."""
        by_image = state.by_image()
        groups = sorted(state.categories, key=lambda name: (not state.is_known(name), state.is_aside(name), name))
        place = {name: number for number, name in enumerate(groups)}
        aside = [number for number, name in enumerate(groups) if state.is_aside(name)]
        return cls(
            version=version,
            groups=tuple(groups),
            known=np.array([state.is_known(name) for name in groups], dtype=bool),
            aside=aside[0] if aside else None,
            group=np.fromiter(map(place.__getitem__, by_image), np.int32, len(by_image)),
            labelled=_mask(state.labelled, row),
            confirmed=_mask(state.confirmed, row),
            undo=described(standings.in_force[-1][1]) if standings.in_force else None,
            redo=described(standings.taken_back[-1][1]) if standings.taken_back else None,
        )

    @cached_property
    def place(self) -> dict[str, int]:
        """The number of every group by its name."""
        return {name: number for number, name in enumerate(self.groups)}

    @cached_property
    def settled(self) -> np.ndarray:
        """[N] bool; a person said what these are."""
        both: np.ndarray = self.labelled | self.confirmed
        return both

    @cached_property
    def rejected(self) -> np.ndarray:
        """[N] bool; set aside."""
        if self.aside is None:
            return np.zeros(len(self.group), bool)
        there: np.ndarray = self.group == self.aside
        return there

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.group, kind="stable")
        return order, np.searchsorted(self.group[order], np.arange(len(self.groups) + 1))

    def members(self, group: int) -> np.ndarray:
        """The images of a group, in the order of predictions.csv."""
        order, begins = self._sorted
        return order[begins[group] : begins[group + 1]]

    def is_named(self, group: int) -> bool:
        return group_number(self.groups[group]) is None and group != self.aside

    def changed_since(self, before: "Snapshot") -> tuple[np.ndarray, set[str]]:
        """The images [n] that are elsewhere now, and the names of the groups they left or came to."""
        names_before = np.array([self.place.get(name, -1) for name in before.groups])
        moved = np.flatnonzero(names_before[before.group] != self.group)
        left = {before.groups[number] for number in np.unique(before.group[moved])}
        return moved, left | {self.groups[number] for number in np.unique(self.group[moved])}


def _mask(paths: Mapping[str, None], row: Mapping[str, int]) -> np.ndarray:
    mask = np.zeros(len(row), bool)
    mask[np.fromiter((row[path] for path in paths), np.int64, len(paths))] = True
    return mask
