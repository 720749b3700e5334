"""Where every image is after some edits, and whether a further edit fits."""

import shlex
from collections import Counter
from collections.abc import Iterable, KeysView, Mapping, Sequence
from copy import copy
from typing import Self

import pandas as pd

from legogcd.collection.group_names import group_number, novel_name
from legogcd.edits.edit import Aside, Change, Confirm, Merge, Move, Name, Several, Single, Split
from legogcd.edits.names import ASIDE, clean_name, find_path, find_spelled, no_category, no_image, shown
from legogcd.edits.reversible import Reversible
from legogcd.errors import UserError
from legogcd.wording import counted, some_of


class State:
    """The images of a run by category. ``resolve`` checks an edit and completes it, ``apply`` carries it out.

    ``revert`` takes the last one back at the cost of that edit alone. ``labelled`` and ``confirmed`` are the images
    whose category counts as a label: given to the run, or confirmed. All that edits change is in dictionaries, as
    `Reversible` needs it.
    """

    def __init__(self, predictions: pd.DataFrame) -> None:
        self._table = predictions
        paths, categories = predictions["path"].tolist(), predictions["category"].tolist()
        twice = [path for path, count in Counter(paths).items() if count > 1]
        if twice:
            raise UserError(f"predictions.csv names {some_of(twice, 3)} more than once; an edit could mean either")
        self._category: dict[str, str] = dict(zip(paths, categories, strict=True))  # by path
        self._images: dict[str, dict[str, None]] = {}  # by category
        for path, category in self._category.items():
            self._images.setdefault(category, {})[path] = None
        status = predictions["status"]
        self._known: dict[str, None] = dict.fromkeys(predictions["category"][status != "novel"])
        self.labelled: dict[str, None] = dict.fromkeys(predictions["path"][status == "labelled"])
        self.confirmed: dict[str, None] = {}
        self._became: dict[str, str] = {}  # where a name that is gone went
        self._now: dict[str, str] = {}  # what categories of the run are called now, by what the run called them
        self._of_the_run = {*categories, *predictions["predicted"]}
        numbers = (group_number(name) for name in self._of_the_run)
        self._newest = {"group": max((number for number in numbers if number is not None), default=0)}
        self._changes = Reversible()

    def copy(self) -> Self:
        """A state of its own, whose last edits cannot be taken back."""
        other = copy(self)
        for name in ("_category", "_known", "labelled", "confirmed", "_became", "_now", "_newest"):
            setattr(other, name, dict(getattr(self, name)))
        other._images = {category: dict(images) for category, images in self._images.items()}
        other._changes = Reversible()
        return other

    @property
    def predictions(self) -> pd.DataFrame:
        """The table the state began with, not to be changed."""
        return self._table

    def size(self, category: str) -> int:
        """How many images a category has."""
        return len(self._images.get(category, ()))

    @property
    def categories(self) -> KeysView[str]:
        """All that hold an image now."""
        return self._images.keys()

    def images(self, category: str) -> list[str]:
        """The images of a category by path, none where there is no such category."""
        return [*self._images.get(category, ())]

    def place(self, path: str) -> str | None:
        """The category of an image; None where there is no such image."""
        return self._category.get(path)

    def paths(self) -> list[str]:
        """Every image, in the order of predictions.csv."""
        return [*self._category]

    def by_image(self) -> list[str]:
        """The category of every image, in the order of predictions.csv."""
        return [*self._category.values()]

    def is_known(self, category: str) -> bool:
        return category in self._known

    def is_aside(self, category: str) -> bool:
        """Whether a category is where images go that show nothing of the collection."""
        return category == ASIDE and ASIDE not in self._of_the_run

    def now(self, category: str) -> tuple[str, bool]:
        """What became of a category of the run: its name now, and whether it counts as known.

        Names and merges move a category; images that are split off leave it where it is.
        """
        name = self._now.get(category, category)
        return name, name in self._known

    def frame(self) -> pd.DataFrame:
        """One row per image, as predictions.csv, with the categories and statuses of now and ``confirmed``."""
        frame = self._table.copy()
        paths = frame["path"].tolist()
        for column, values in (("category", map(self._category.get, paths)), ("status", map(self._status, paths))):
            frame[column] = pd.Series(list(values), frame.index, dtype=object)  # pandas' own text type is UTF-8 only
        frame["confirmed"] = [path in self.confirmed for path in paths]
        return frame

    def labels(self) -> dict[str, str]:
        """Label by path, in the order of predictions.csv; a group of labelled images must have a name."""
        found = {path: name for path, name in self._category.items() if self._has_label(path)}
        nameless = Counter(name for name in found.values() if group_number(name) is not None)
        for name, count in nameless.items():
            raise UserError(
                f"{name} has {counted(count, 'confirmed image')} but no name; "
                f"give it one first: legogcd name RUN {name} NAME"
            )
        return found

    def confirmation(self, categories: Sequence[str], images: Sequence[str]) -> Confirm:
        """The edit that confirms the images of ``categories``, and ``images``, as they are now."""
        wanted = {self._find_category(name) for name in categories}
        single = {self._find_image(path) for path in images}
        chosen: dict[str, list[str]] = {}
        for path, category in self._category.items():
            if category in wanted or path in single:
                chosen.setdefault(category, []).append(path)
        return Confirm({category: tuple(paths) for category, paths in chosen.items()})

    def placed(self, images: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Images by the category they are in now, as moves and other edits name them."""
        chosen: dict[str, list[str]] = {}
        for path in dict.fromkeys(map(self._find_image, images)):
            chosen.setdefault(self._category[path], []).append(path)
        return {category: tuple(paths) for category, paths in chosen.items()}

    def setting_aside(self, categories: Sequence[str], images: Sequence[str]) -> Aside:
        """The edit that sets the images of ``categories``, and ``images``, aside."""
        wanted = [path for name in categories for path in self._images[self._find_category(name)]]
        return Aside(self.placed([*wanted, *images]))

    def resolve(self, edit: Change) -> Change:
        """The edit with its names as they are kept and nothing left open; UserError where it does not fit."""
        if not isinstance(edit, Several):
            return self._resolve_single(edit)
        if not edit.edits:
            raise UserError("nothing was given to do")
        after, resolved = self.copy(), list[Single]()  # each one is about what those before it left
        for single in edit.edits:
            resolved.append(after._resolve_single(single))
            after.apply(resolved[-1])
        return Several(tuple(resolved), edit.why)

    def _resolve_single(self, edit: Single) -> Single:
        match edit:
            case Name():
                return self._resolve_name(edit)
            case Merge():
                return self._resolve_merge(edit)
            case Split():
                return self._resolve_split(edit)
            case Confirm():
                return self._resolve_confirm(edit)
            case Move():
                return self._resolve_move(edit)
            case Aside():
                return self._resolve_aside(edit)

    def apply(self, edit: Change) -> None:
        """Carry out an edit that ``resolve`` returned."""
        self._changes.begin()
        for single in edit.edits if isinstance(edit, Several) else [edit]:
            self._apply_single(single)

    def _apply_single(self, edit: Single) -> None:
        match edit:
            case Name():
                self._pour(edit.category, edit.name)
            case Merge():
                for category in edit.categories:
                    self._pour(category, edit.into)
            case Split():
                assert edit.into is not None
                self._split_off(edit.category, edit.images, edit.into)
            case Confirm():
                for paths in edit.images.values():
                    self._changes.put(self.confirmed, dict.fromkeys(paths))
            case Move():
                assert edit.into is not None
                for category, paths in edit.images.items():
                    self._move(category, paths, edit.into)
            case Aside():
                for category, paths in edit.images.items():
                    self._move(category, paths, ASIDE)

    def revert(self) -> bool:
        """Take back the last edit that was applied; False where it is too long ago, and nothing is changed."""
        return self._changes.back()

    def _resolve_name(self, edit: Name) -> Name:
        category, name = self._find_ordinary(edit.category), clean_name(edit.name)
        taken = find_spelled(name, self._images)
        if taken == category:
            raise UserError(f"{shown(category)} has that name already")
        if taken is not None:
            kind = "known class" if taken in self._known else "group"
            raise UserError(
                f"there is a {kind} {taken!r} already; to make them one: "
                f"legogcd merge RUN {shlex.quote(taken)} {shlex.quote(category)}"
            )
        return Name(category, name)

    def _resolve_merge(self, edit: Merge) -> Merge:
        into = self._find_ordinary(edit.into)
        categories = tuple(dict.fromkeys(self._find_ordinary(name) for name in edit.categories))
        if not categories:
            raise UserError(f"nothing to merge into {shown(into)}; name one more category, or several")
        if into in categories:
            raise UserError(f"{shown(into)} cannot be merged into itself; name different categories")
        named = [name for name in categories if group_number(name) is None]
        if group_number(into) is not None and named:
            raise UserError(
                f"{named[0]!r} would lose its name in {into}; turn them round: "
                f"legogcd merge RUN {shlex.quote(named[0])} {into}"
            )
        return Merge(into, categories)

    def _resolve_split(self, edit: Split) -> Split:
        category = self._find_category(edit.category)
        images = tuple(dict.fromkeys(self._find_image(path) for path in edit.images))
        if not images:
            raise UserError(f"no image was given to split off {shown(category)}")
        self._check_in(category, images)
        if len(images) == self.size(category):
            raise UserError(f"these are all images of {shown(category)}; use name or merge for the whole of it")
        into = self._resolve_into(edit.into)
        if into == category:
            raise UserError(f"the images are in {shown(category)} already; split them off into another category")
        return Split(category, images, into)

    def _resolve_into(self, into: str | None) -> str:
        following = novel_name(self._newest["group"] + 1)
        if into is None or into == following:
            return following
        found = find_spelled(into, self._images)
        return clean_name(into) if found is None or self.is_aside(found) else found

    def _resolve_move(self, edit: Move) -> Move:
        into = self._resolve_into(edit.into)
        there = {category: images for category, images in self._checked(edit.images).items() if category != into}
        if not there:
            given = any(edit.images.values())
            raise UserError(f"the images are in {shown(into)} already" if given else "no image was given to move")
        return Move(there, into)

    def _resolve_aside(self, edit: Aside) -> Aside:
        if ASIDE in self._of_the_run:
            raise UserError(f"the run has a category {ASIDE!r} of its own; images cannot be set aside in it")
        there = {category: images for category, images in self._checked(edit.images).items() if category != ASIDE}
        if not there:
            given = any(edit.images.values())
            raise UserError("the images are set aside already" if given else "no image was given to set aside")
        return Aside(there)

    def _checked(self, given: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
        """Images by category as they are kept; UserError for one that is not where it is said to be."""
        found: dict[str, tuple[str, ...]] = {}
        for name, written in given.items():
            category = self._find_category(name)
            images = tuple(dict.fromkeys(self._find_image(path) for path in written))
            self._check_in(category, images)
            if images:
                found[category] = images
        return found

    def _resolve_confirm(self, edit: Confirm) -> Confirm:
        chosen: dict[str, tuple[str, ...]] = {}
        for name, written in edit.images.items():
            category, images = self._find_ordinary(name), [self._find_image(path) for path in written]
            self._check_in(category, images)
            fresh = tuple(path for path in dict.fromkeys(images) if not self._has_label(path))
            if fresh:
                chosen[category] = fresh
        if not any(edit.images.values()):
            raise UserError("no image was given to confirm")
        if not chosen:
            raise UserError(
                f"nothing to confirm: every image of {some_of([*edit.images], 3)} given has a label already"
            )
        return Confirm(chosen)

    def _find_category(self, written: str) -> str:
        found = find_spelled(written, self._images)
        if found is not None:
            return found
        if written in self._became:
            now = written
            while now not in self._images:
                now = self._became[now]
            raise UserError(f"{shown(written)} is now {shown(now)}; use that name")
        raise UserError(no_category(written, [*self._images]))

    def _find_ordinary(self, written: str) -> str:
        """A category that is not the one of images set aside."""
        found = self._find_category(written)
        if self.is_aside(found):
            raise UserError(f"{shown(found)} holds what shows nothing of the collection; move images out of it first")
        return found

    def _find_image(self, written: str) -> str:
        found = find_path(written, self._category)
        if found is None:
            raise UserError(no_image(written, [*self._category]))
        return found

    def _check_in(self, category: str, images: Iterable[str]) -> None:
        for path in images:
            if self._category[path] != category:
                raise UserError(f"{path!r} is in {shown(self._category[path])}, not in {shown(category)}")

    def _pour(self, category: str, into: str) -> None:
        """All images of a category go to another, which is known if either was."""
        put, drop = self._changes.put, self._changes.drop
        if category in self._known:
            drop(self._known, [category])
            if not self.is_aside(into):
                put(self._known, {into: None})
        images = self._images[category]
        drop(self._images, [category])
        self._add(images, category, into)
        put(self._became, {category: into})
        carried = [first for first, name in self._now.items() if name == category]
        if category not in self._now and category in self._of_the_run:
            carried.append(category)
        put(self._now, dict.fromkeys(carried, into))

    def _split_off(self, category: str, images: Sequence[str], into: str) -> None:
        put, drop = self._changes.put, self._changes.drop
        drop(self._images[category], images)
        self._add(images, category, into)
        drop(self.labelled, images)
        drop(self.confirmed, images)
        put(self._newest, {"group": max(self._newest["group"], group_number(into) or 0)})

    def _move(self, category: str, images: Sequence[str], into: str) -> None:
        """Images go to another category; one that loses all of them to it goes there itself, unless a name is lost."""
        whole = len(images) == self.size(category)
        if whole and (group_number(into) is None or group_number(category) is not None):
            self._pour(category, into)
            self._changes.drop(self.labelled, images)
            self._changes.drop(self.confirmed, images)
        else:
            self._split_off(category, images, into)
            if whole:
                self._changes.drop(self._images, [category])
                self._changes.put(self._became, {category: into})
        self._changes.put(self._newest, {"group": max(self._newest["group"], group_number(into) or 0)})
        if group_number(into) is None and not self.is_aside(into):
            self._changes.put(self.confirmed, dict.fromkeys(images))

    def _add(self, images: Iterable[str], left: str, into: str) -> None:
        """Images that left one category go to another."""
        put = self._changes.put
        if into in self._images:
            put(self._images[into], dict.fromkeys(images))
        else:
            put(self._images, {into: dict.fromkeys(images)})
        put(self._category, dict.fromkeys(images, into), before=dict.fromkeys(images, left))

    def _has_label(self, path: str) -> bool:
        return path in self.labelled or path in self.confirmed

    def _status(self, path: str) -> str:
        if path in self.labelled:
            return "labelled"
        if self.is_aside(self._category[path]):
            return "rejected"
        return "known" if self._category[path] in self._known else "novel"
