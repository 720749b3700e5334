"""Decisions of another tool as one edit: what is right already is confirmed, the rest is moved."""

import posixpath
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from legogcd.collection.group_names import group_number
from legogcd.csv_text import read_csv_text
from legogcd.edits.edit import Aside, Confirm, Merge, Move, Name, Several, Single
from legogcd.edits.names import ASIDE, clean_name, find_spelled
from legogcd.edits.state import State
from legogcd.errors import UserError
from legogcd.imports.decisions import Decision, read_decisions
from legogcd.run.categories import append_edit, read_state
from legogcd.wording import counted, printable, some_of


@dataclass(frozen=True)
class Imported:
    """The edit that an import is, and what it did."""

    edit: Several
    tool: str
    renamed: int  # groups that got a name
    moved: int
    confirmed: int
    aside: int
    unchanged: int
    unknown: tuple[str, ...]  # images in the file that the run does not have

    def lines(self) -> list[str]:
        """What to tell a person."""
        parts = [f"{counted(self.renamed, 'group')} named"] if self.renamed else []
        parts += [f"{self.moved} moved", f"{self.confirmed} confirmed where they are"]
        parts += [f"{self.aside} set aside"] if self.aside else []
        parts += [f"{self.unchanged} settled so already"] if self.unchanged else []
        said = [f"{self.tool}: {', '.join(parts)}"]
        if self.unknown:
            said.append(f"{counted(len(self.unknown), 'image')} not of this run: {some_of(self.unknown, 3)}")
        return said


def import_file(run: Path, file: Path) -> Imported:
    """Take over what a file of another tool says about the images of a run, as one edit."""
    found = import_decisions(read_state(run), file.name, read_csv_text(file))
    append_edit(run, found.edit)
    return found


def import_decisions(state: State, name: str, text: str) -> Imported:
    """The edit that makes a run what a file says; nothing is written."""
    tool, decisions = read_decisions(name, text)
    by_image, unknown = _by_image(state, decisions, name)
    if not by_image:
        raise UserError(_nothing(name, unknown))
    renamed = _renamed(state, by_image)
    after = state.copy()
    for edit in renamed:
        after.apply(after.resolve(edit))
    wanted = {
        path: said.category for path, said in by_image.items() if said.settled or after.place(path) != said.category
    }
    edits, counts = _edits(after, wanted)
    if not edits and not renamed:
        raise UserError(
            f"{printable(name)!r} says nothing new: all of {counted(len(by_image), 'image')} are settled so"
        )
    made = Several((*renamed, *edits), f"import {printable(name)}")
    return Imported(made, tool, len(renamed), *counts, tuple(unknown))


def _by_image(state: State, decisions: Sequence[Decision], name: str) -> tuple[dict[str, Decision], list[str]]:
    """What is said of images of the run, with the category as it is spelled there, and images that it does not have."""
    find, found, unknown = _Finder(state.paths()), dict[str, Decision](), list[str]()
    for decision in decisions:
        path = find(decision)
        if path is None:
            unknown.append(decision.written)
            continue
        said = replace(decision, category=_category(state, decision, name))
        before = found.setdefault(path, said).category
        if before != said.category:
            raise UserError(
                f"{printable(name)!r} {decision.place}: {path!r} is {said.category!r} here and {before!r} before; "
                "keep one"
            )
    return found, list(dict.fromkeys(unknown))


def _renamed(state: State, said: Mapping[str, Decision]) -> list[Name | Merge]:
    """Groups without a name all of whose images have one other category, not all of them settled: they were named."""
    found: list[Name | Merge] = []
    given: set[str] = set()
    for group in state.categories:
        of_group = [said.get(path) for path in state.images(group)]
        names = {each.category if each is not None else group for each in of_group}
        if (
            group_number(group) is None
            or len(names) != 1
            or all(each is not None and each.settled for each in of_group)
        ):
            continue
        (name,) = names
        if name in (group, ASIDE) or group_number(name) is not None:
            continue
        there = name in state.categories or name in given
        found.append(Merge(name, (group,)) if there else Name(group, name))
        given.add(name)
    return found


def _category(state: State, decision: Decision, name: str) -> str:
    there = find_spelled(decision.category, [*state.categories])
    if there is not None or decision.category.strip() == ASIDE:
        return there or ASIDE
    try:
        return clean_name(decision.category)
    except UserError as error:
        raise UserError(f"{printable(name)!r} {decision.place}: {error}") from None


def _edits(state: State, wanted: dict[str, str]) -> tuple[list[Single], tuple[int, int, int, int]]:
    """Confirm what is right, move what is not, set aside what is to be; and how many images each was."""
    now = dict(zip(state.paths(), state.by_image(), strict=True))
    confirmed: dict[str, list[str]] = {}
    moved: dict[str, list[str]] = {}
    unchanged = 0
    for path, category in wanted.items():
        settled = path in state.labelled or path in state.confirmed or state.is_aside(category)
        if now[path] != category:
            moved.setdefault(category, []).append(path)
        elif settled or group_number(category) is not None:
            unchanged += 1
        else:
            confirmed.setdefault(category, []).append(path)
    aside = moved.pop(ASIDE, [])
    edits: list[Single] = []
    if confirmed:
        edits.append(Confirm({category: tuple(paths) for category, paths in confirmed.items()}))
    if aside:
        edits.append(Aside(state.placed(aside)))
    edits += [Move(state.placed(paths), category) for category, paths in moved.items()]
    return edits, (_count(moved.values()), _count(confirmed.values()), len(aside), unchanged)


def _count(lists: Iterable[list[str]]) -> int:
    return sum(map(len, lists))


def _nothing(name: str, unknown: Sequence[str]) -> str:
    if unknown:
        return f"none of the images in {printable(name)!r} is of this run, first {printable(unknown[0])!r}"
    return f"{printable(name)!r} says of no image what it is"


class _Finder:
    """Which image of a run a tool means: by its path, or by as much of the end of it as only one image has."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._exact = frozenset(paths)
        self._by_end: dict[str, str | None] = {}
        for path in paths:
            for end in _ends(path):
                for key in (end, posixpath.splitext(end)[0]):
                    known = self._by_end.setdefault(key, path)
                    if known != path:
                        self._by_end[key] = None  # two images end so

    def __call__(self, decision: Decision) -> str | None:
        if decision.written in self._exact and decision.ending:
            return decision.written
        return next((found for end in _ends(decision.written) if (found := self._by_end.get(end))), None)


def _ends(path: str) -> list[str]:
    """A path, then with one folder less after the other, in one spelling."""
    parts = [part for part in unicodedata.normalize("NFC", path.replace("\\", "/")).split("/") if part not in ("", ".")]
    return ["/".join(parts[start:]) for start in range(len(parts))]
