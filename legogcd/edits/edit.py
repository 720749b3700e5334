"""The kinds of edits, and the line of edits.jsonl that each one is."""

import json
import re
import zlib
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field, PlainValidator, TypeAdapter, ValidationError, with_config

FORMAT = 2
_UNCHECKED = 1  # lines of this format have no checksum
_CHECK = re.compile(rb', "check": "([0-9a-f]{8})"\}')
_NOTHING_ELSE = ConfigDict(extra="forbid")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("expected text")
    return value


Text: TypeAlias = Annotated[str, PlainValidator(_text)]
"""Any text; pydantic's own check refuses the lone surrogates that stand for bytes of a file name outside UTF-8."""


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Name:
    """``category`` is called ``name`` from now on."""

    category: Text
    name: Text
    edit: Literal["name"] = "name"


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Merge:
    """All images of ``categories`` go to ``into``."""

    into: Text
    categories: tuple[Text, ...]
    edit: Literal["merge"] = "merge"


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Split:
    """``images`` leave ``category`` for ``into``; None is the next free new-NNN."""

    category: Text
    images: tuple[Text, ...]
    into: Text | None = None
    edit: Literal["split"] = "split"


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Confirm:
    """Images, by the category they have at this time, are where they belong."""

    images: dict[Text, tuple[Text, ...]]
    edit: Literal["confirm"] = "confirm"


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Move:
    """Images, by the category they have at this time, go to ``into``; None is the next free new-NNN.

    A person who says where images belong has looked at them: in a category with a name they count as confirmed.
    """

    images: dict[Text, tuple[Text, ...]]
    into: Text | None = None
    edit: Literal["move"] = "move"


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Aside:
    """Images, by the category they have at this time, show nothing the collection is about."""

    images: dict[Text, tuple[Text, ...]]
    edit: Literal["aside"] = "aside"


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Several:
    """Edits that are made, and taken back, as one; ``why`` says where they come from."""

    edits: tuple[Annotated["Name | Merge | Split | Confirm | Move | Aside", Field(discriminator="edit")], ...]
    why: Text = ""
    edit: Literal["several"] = "several"


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Undo:
    """The last edit in force, number ``of``, is taken back; None is whichever that is."""

    of: Annotated[int, Field(strict=True)] | None = None
    edit: Literal["undo"] = "undo"


@with_config(_NOTHING_ELSE)
@dataclass(frozen=True)
class Redo:
    """The edit that was taken back last, number ``of``, is in force again; None is whichever that is."""

    of: Annotated[int, Field(strict=True)] | None = None
    edit: Literal["redo"] = "redo"


Single: TypeAlias = Name | Merge | Split | Confirm | Move | Aside
Change: TypeAlias = Single | Several
Edit: TypeAlias = Change | Undo | Redo
_READER: TypeAdapter[Edit] = TypeAdapter(Annotated[Edit, Field(discriminator="edit")])


def to_line(edit: Edit, before: int = 0) -> bytes:
    """One line of JSON with its line end; its checksum goes on from ``before``, the CRC-32 of the log so far.

    Bytes of a path that are not UTF-8 are written as JSON escapes of the lone surrogates that stand for them.

    >>> to_line(Name("new-003", "snowy owl"))
    b'{"format": 2, "edit": "name", "category": "new-003", "name": "snowy owl", "check": "85e2bc28"}\\n'
    """
    fields = asdict(edit)
    entry = {"format": FORMAT, "edit": fields.pop("edit"), **fields}
    checked = json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace")[:-1]  # all but the brace
    return checked + f', "check": "{zlib.crc32(checked, before):08x}"}}\n'.encode()


def from_line(line: bytes, before: int = 0) -> Edit:
    """The edit in a line; ValueError says in a few words why there is none."""
    try:
        entry: Any = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(entry, dict) or "edit" not in entry:
        raise ValueError('it is not an object with "edit"')
    number = entry.pop("format", None)
    if type(number) is not int or number not in (FORMAT, _UNCHECKED):
        raise ValueError(f'its "format" is not {FORMAT}; a newer legogcd may have written it')
    if number == FORMAT:
        _check(line, before)
        del entry["check"]
    try:
        return _READER.validate_python(entry)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{where}: {first['msg']}" if where else first["msg"]) from None


def is_whole(line: bytes) -> bool:
    """Whether a line has its end, be it right or wrong: a crash while it was written cannot have left it so."""
    return _CHECK.search(line) is not None


def _check(line: bytes, before: int) -> None:
    found = _CHECK.search(line)
    if found is None or found.end() != len(line):
        raise ValueError("its checksum is missing")
    if int(found[1], 16) != zlib.crc32(line[: found.start()], before):
        raise ValueError("it or a line before it was changed, its checksum says")
