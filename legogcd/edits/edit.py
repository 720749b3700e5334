"""The kinds of edits, and the line of edits.jsonl that each one is."""

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config

FORMAT = 1
_NOTHING_ELSE = ConfigDict(extra="forbid")


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Name:
    """``category`` is called ``name`` from now on."""

    category: str
    name: str
    edit: Literal["name"] = "name"


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Merge:
    """All images of ``categories`` go to ``into``."""

    into: str
    categories: tuple[str, ...]
    edit: Literal["merge"] = "merge"


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Split:
    """``images`` leave ``category`` for ``into``; None is the next free new-NNN."""

    category: str
    images: tuple[str, ...]
    into: str | None = None
    edit: Literal["split"] = "split"


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Confirm:
    """Images, by the category they have at this time, are where they belong."""

    images: dict[str, tuple[str, ...]]
    edit: Literal["confirm"] = "confirm"


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Undo:
    """The last edit in force, number ``of``, is taken back; None is whichever that is."""

    of: Annotated[int, Field(strict=True)] | None = None
    edit: Literal["undo"] = "undo"


Change: TypeAlias = Name | Merge | Split | Confirm
Edit: TypeAlias = Change | Undo
_READER: TypeAdapter[Edit] = TypeAdapter(Annotated[Edit, Field(discriminator="edit")])


def to_line(edit: Edit) -> bytes:
    """One line of UTF-8 JSON with its line end.

    >>> to_line(Name("new-003", "snowy owl"))
    b'{"format": 1, "edit": "name", "category": "new-003", "name": "snowy owl"}\\n'
    """
    fields = asdict(edit)
    entry = {"format": FORMAT, "edit": fields.pop("edit"), **fields}
    return json.dumps(entry, ensure_ascii=False).encode() + b"\n"


def from_line(line: bytes) -> Edit:
    """The edit in a line; ValueError says in a few words why there is none."""
    try:
        entry: Any = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(entry, dict) or "edit" not in entry:
        raise ValueError('it is not an object with "edit"')
    if entry.pop("format", None) != FORMAT:
        raise ValueError(f'its "format" is not {FORMAT}; a newer legogcd may have written it')
    try:
        return _READER.validate_python(entry)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{where}: {first['msg']}" if where else first["msg"]) from None
