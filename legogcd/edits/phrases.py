"""Edits in words."""

from collections.abc import Sequence

from legogcd.collection.group_names import group_number
from legogcd.edits.edit import Change, Confirm, Edit, Merge, Name, Split, Undo
from legogcd.edits.log import in_force
from legogcd.edits.names import shown
from legogcd.edits.state import State
from legogcd.wording import counted, some_of


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
            return f"confirm {_confirmed(edit)}"
        case Undo():
            return f"undo {edit.of}" if edit.of is not None else "undo"


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
            return f"confirmed {_confirmed(edit)}{hint}"


def log_lines(edits: Sequence[Edit]) -> list[str]:
    """The log with its numbers; edits that were taken back are marked."""
    standing = {number for number, _ in in_force(edits)}
    return [
        f"{number:>4}  {described(edit)}{'' if number in standing or isinstance(edit, Undo) else '  (taken back)'}"
        for number, edit in enumerate(edits, start=1)
    ]


def _confirmed(edit: Confirm) -> str:
    return ", ".join(f"{counted(len(paths), 'image')} of {shown(name)}" for name, paths in edit.images.items())


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(map(shown, names))
