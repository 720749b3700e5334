"""Names of groups that nobody has named yet: new-001, new-002, …"""

import re
from collections.abc import Iterable, Sequence

from legogcd.errors import UserError
from legogcd.wording import some_of

_FOUND_GROUP = re.compile(r"new-(\d+)")


def novel_name(number: int) -> str:
    """The name of the new group ``number``, counted from 1 in prototype order: new-001, new-002, …"""
    return f"new-{number:03d}"


def group_number(name: str) -> int | None:
    """The number of a group without a name, like 3 of new-003; None for every other name."""
    found = _FOUND_GROUP.fullmatch(name)
    return int(found[1]) if found else None


def class_names(known: Sequence[str], n_classes: int) -> list[str]:
    """The names of all classes in prototype order: the known ones, then the new groups."""
    return [*known, *(novel_name(number) for number in range(1, n_classes - len(known) + 1))]


def check_not_reserved(names: Iterable[str]) -> None:
    """Refuse labels that look like a group without a name."""
    taken = sorted({name for name in names if group_number(name) is not None})
    if taken:
        raise UserError(f"label {some_of(taken, 3)}: names like 'new-001' are kept for found groups; rename it")
