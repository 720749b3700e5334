"""Names that were given but not confirmed go on to the next round: its new groups are matched to those of the last.

Confirmed images are labels, so their categories are known classes of the next round anyway. Of a group that only has
a name nothing is told to the training; it is found again by the images it shares with a new group.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from legogcd.collection.group_names import group_number
from legogcd.edits.edit import Name, Several
from legogcd.edits.names import shown
from legogcd.edits.state import State
from legogcd.run.categories import append_edit, read_edits, read_state
from legogcd.wording import counted

SAME = 0.5  # of what two groups hold together, the share that both hold (Dice) from which they count as one


@dataclass(frozen=True)
class Match:
    """A group with a name, the new group that it became, and how many images both have."""

    name: str
    group: str
    shared: int


@dataclass(frozen=True)
class Carried:
    """Names that found their group again, and sentences about those that did not."""

    matches: tuple[Match, ...] = ()
    unmatched: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """What to tell a person."""
        named = [
            f"{match.group} is {match.name!r} again ({counted(match.shared, 'image')} in common)"
            for match in self.matches
        ]
        return [*named, *self.unmatched]


def carry_names(before: Path, after: Path) -> Carried:
    """Give the groups of the run ``after`` the names they had in ``before``, as one edit that can be taken back.

    A run that has edits already is left alone: it was done then, or somebody decided otherwise.
    """
    if read_edits(after):
        return Carried()
    found = match_names(read_state(before), read_state(after))
    if found.matches:
        names = tuple(Name(match.group, match.name) for match in found.matches)
        append_edit(after, Several(names, f"names from {before.resolve().name}"))
    return found


def match_groups(before: State, after: State) -> dict[str, str]:
    """What became of each category, by name: those of one name, and groups without one that hold the same images."""
    from scipy.optimize import linear_sum_assignment

    found = {name: name for name in before.categories if name in after.categories and group_number(name) is None}
    old = [name for name in before.categories if group_number(name) is not None]
    new = [name for name in after.categories if group_number(name) is not None]
    shared = _shared(before, after, old, new)
    for row, column in zip(*linear_sum_assignment(shared, maximize=True), strict=True):
        if 2 * shared[row, column] > SAME * (before.size(old[row]) + after.size(new[column])):
            found[old[row]] = new[column]
    return found


def match_names(before: State, after: State) -> Carried:
    """The groups of two rounds matched one to one so that they share the most images; names of those that do count."""
    from scipy.optimize import linear_sum_assignment

    categories_now = dict.fromkeys(after.categories)
    old = [name for name in before.categories if name not in categories_now or group_number(name) is not None]
    old = [name for name in old if not before.is_aside(name)]
    new = [name for name in after.categories if not after.is_known(name) and group_number(name) is not None]
    named = [name for name in old if group_number(name) is None]
    if not named:
        return Carried()
    went = {name: _went(name, before, after) for name in old}
    shared = _shared(before, after, old, new)
    matches: dict[str, Match] = {}
    for row, column in zip(*linear_sum_assignment(shared, maximize=True), strict=True):
        name, group, common = old[row], new[column], int(shared[row, column])
        alike = 2 * common / max(1, went[name].total() + after.size(group))
        if name in named and alike > SAME:
            matches[name] = Match(name, group, common)
    lost = tuple(_lost(name, went[name]) for name in named if name not in matches)
    return Carried(tuple(matches.values()), lost)


def _shared(before: State, after: State, old: Sequence[str], new: Sequence[str]) -> np.ndarray:
    """How many images groups have in common [old, new]."""
    went = [_went(name, before, after) for name in old]
    return np.array([[counts[group] for group in new] for counts in went], np.int64).reshape(len(old), len(new))


def _went(name: str, before: State, after: State) -> Counter[str]:
    """Where the images of a category are in the next round, those that it has."""
    places = (after.place(path) for path in before.images(name))
    return Counter(place for place in places if place is not None)


def _lost(name: str, went: Counter[str]) -> str:
    where = ", ".join(f"{count} in {shown(group)}" for group, count in went.most_common(3))
    return f"the name {name!r} was not confirmed, and no group is like it now: its images are {where or 'gone'}"
