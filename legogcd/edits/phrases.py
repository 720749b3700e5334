"""Edits in words."""

from collections.abc import Mapping, Sequence

from legogcd.collection.group_names import group_number
from legogcd.edits.edit import Aside, Change, Confirm, Edit, Merge, Move, Name, Redo, Several, Split, Undo
from legogcd.edits.log import in_force
from legogcd.edits.names import shown
from legogcd.edits.state import State
from legogcd.wording import counted, some_of

_LISTED = 12  # categories that are named in one line
_TOLD = 3  # edits made as one of which each is told


def described(edit: Edit) -> str:
    """An edit in a few words, as a log lists it.

    >>> described(Merge("owl", ("new-001", "new-004")))
    "merge new-001, new-004 into 'owl'"
    """
    match edit:
        case Name():
            return f"name {shown(edit.category)} {edit.name!r}"
        case Merge():
            return f"merge {_listed(edit.categories)} into {shown(edit.into)}"
        case Split():
            into = f" into {shown(edit.into)}" if edit.into is not None else ""
            return f"split {some_of(edit.images, 3)} off {shown(edit.category)}{into}"
        case Confirm():
            return f"confirm {_by_category(edit.images)}"
        case Move():
            into = f" to {shown(edit.into)}" if edit.into is not None else ""
            return f"move {_by_category(edit.images)}{into}"
        case Aside():
            return f"set aside {_by_category(edit.images)}"
        case Several():
            first = described(edit.edits[0]) if edit.edits else "nothing"
            more = f" and {counted(len(edit.edits) - 1, 'more edit')}" if len(edit.edits) > 1 else ""
            return f"{edit.why}: {first}{more}" if edit.why else f"{first}{more}"
        case Undo():
            return f"undo {edit.of}" if edit.of is not None else "undo"
        case Redo():
            return f"redo {edit.of}" if edit.of is not None else "redo"


def outcome_line(edit: Change, state: State) -> str:
    """What an edit did, told from the state after it."""
    match edit:
        case Name():
            return f"{shown(edit.category)} is now {edit.name!r} ({counted(state.size(edit.name), 'image')})"
        case Merge():
            held = counted(state.size(edit.into), "image")
            return f"{_listed(edit.categories)} merged into {shown(edit.into)} (now {held})"
        case Split():
            assert edit.into is not None
            moved, held = counted(len(edit.images), "image"), counted(state.size(edit.into), "image")
            return f"{moved} moved from {shown(edit.category)} to {shown(edit.into)} (now {held})"
        case Confirm():
            nameless = [name for name in edit.images if group_number(name) is not None]
            hint = f"; still to be named: {_listed(nameless)}" if nameless else ""
            return f"confirmed {_by_category(edit.images)}{hint}"
        case Move():
            assert edit.into is not None
            moved, held = counted(_total(edit.images), "image"), counted(state.size(edit.into), "image")
            settled = ", confirmed there" if group_number(edit.into) is None else ""
            return f"{moved} moved from {_listed([*edit.images])} to {shown(edit.into)} (now {held}){settled}"
        case Aside():
            moved = counted(_total(edit.images), "image")
            return f"{moved} of {_listed([*edit.images])} set aside: left out of training and exports"
        case Several():
            return _several_line(edit, state)


def log_lines(edits: Sequence[Edit]) -> list[str]:
    """The log with its numbers; edits that were taken back are marked."""
    standing = {number for number, _ in in_force(edits)}
    standing |= {number for number, edit in enumerate(edits, start=1) if isinstance(edit, Undo | Redo)}
    return [
        f"{number:>4}  {described(edit)}{'' if number in standing else '  (taken back)'}"
        for number, edit in enumerate(edits, start=1)
    ]


def _several_line(edit: Several, state: State) -> str:
    if len(edit.edits) <= _TOLD:
        return "; ".join(outcome_line(single, state) for single in edit.edits)
    why = f"{edit.why}: " if edit.why else ""
    return f"{why}{counted(len(edit.edits), 'edit')} made as one, first: {described(edit.edits[0])}"


def _by_category(images: Mapping[str, Sequence[str]]) -> str:
    listed = [f"{counted(len(paths), 'image')} of {shown(name)}" for name, paths in images.items()]
    return ", ".join(listed[:_LISTED]) + (f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else "")


def _total(images: Mapping[str, Sequence[str]]) -> int:
    return sum(map(len, images.values()))


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(map(shown, names))
