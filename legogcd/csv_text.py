"""CSV files that hold any text and any file name, and give it back as it was.

A cell with a comma, a quotation mark, a line feed or a carriage return stands in quotation marks, so every CSV reader
that knows quotes reads it. The file is UTF-8. Bytes of a file name that are not UTF-8, which Python shows as lone
surrogates, are written as ``%bytes:`` and then the name with those bytes (and every percent sign) as ``%XX``:
``caf\\xe9.jpg`` becomes ``%bytes:caf%E9.jpg``. Names without such bytes are written as they are, unless they begin with
``%bytes:`` themselves.
"""

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from legogcd.errors import UserError
from legogcd.files import replacing

_MARK = "%bytes:"
_NEEDS_QUOTES = re.compile('[,"\r\n]')
_ESCAPED = re.compile("[%\udc80-\udcff]")
_BYTE = re.compile("[\udc80-\udcff]")
_ANY_TEXT = ("utf-8", "surrogatepass")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class CsvRow:
    """The cells of a row, and the line of the file it ends in, counted from 1."""

    line: int
    cells: list[str]


def escape_name(name: str) -> str:
    """The name as text that UTF-8 can hold.

    >>> escape_name("caf\\udce9 100%.jpg"), escape_name("100%.jpg")
    ('%bytes:caf%E9 100%25.jpg', '100%.jpg')
    """
    if not name.startswith(_MARK) and not _BYTE.search(name):
        return name
    return _MARK + _ESCAPED.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", name)


def unescape_name(text: str) -> str:
    """The name that ``escape_name`` was given.

    >>> unescape_name("%bytes:caf%E9 100%25.jpg")
    'caf\\udce9 100%.jpg'
    """
    if not text.startswith(_MARK):
        return text
    return unquote_to_bytes(text.removeprefix(_MARK)).decode("utf-8", "surrogateescape")


def csv_line(cells: Iterable[str]) -> str:
    """One row with its line end.

    >>> csv_line(["a,b", "c"])
    '"a,b",c\\n'
    """
    return (",".join(map(_cell, cells)) or '""') + "\n"


def write_rows(path: str | os.PathLike[str], header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table whole or not at all, one row after the other."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        file.write(csv_line(header))
        file.writelines(map(csv_line, rows))


def read_rows(path: str | os.PathLike[str], header: Sequence[str]) -> Iterator[CsvRow]:
    """The rows of a table that ``write_rows`` wrote with this ``header``; what is wrong is said with its line."""
    shown = repr(str(path))
    rows = parse_rows(read_csv_text(path), shown)
    first = next(rows, CsvRow(1, []))
    if first.cells != list(header):
        raise UserError(f"{shown} begins with {','.join(first.cells)[:80]!r}; expected the header {','.join(header)!r}")
    for row in rows:
        if len(row.cells) != len(header):
            raise UserError(f"{shown} line {row.line} has {len(row.cells)} cells; the header has {len(header)}")
        if any(_BYTE.search(cell) for cell in row.cells):
            raise UserError(f"{shown} line {row.line} is not UTF-8 text")
        yield CsvRow(row.line, [unescape_name(cell) for cell in row.cells])


def read_csv_text(path: str | os.PathLike[str]) -> str:
    """The text of a file, without a byte order mark; bytes that are not UTF-8 become lone surrogates.

    A file that begins with UTF-16's mark, as spreadsheets write "Unicode text", is read as that.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {str(path)!r}: {error.strerror}") from None
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return raw.decode("utf-16")
        except UnicodeDecodeError:
            raise UserError(f"{str(path)!r} begins as UTF-16 text and is not; save it as 'CSV UTF-8'") from None
    return raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def parse_rows(text: str, shown: str, delimiter: str = ",") -> Iterator[CsvRow]:
    """The rows of a CSV text as they stand; ``shown`` names the file where a row cannot be read."""
    lines = io.TextIOWrapper(
        io.BytesIO(text.encode(*_ANY_TEXT)), *_ANY_TEXT, newline=""
    )  # a StringIO takes four times that
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            yield CsvRow(reader.line_num, cells)
    except csv.Error as error:
        raise UserError(f"{shown} line {reader.line_num} is not valid CSV: {error}") from None


def spreadsheet_text(text: str) -> str:
    """The text so that a spreadsheet shows it instead of running it; not reversible, for a column beside the real one.

    >>> spreadsheet_text("=1+1"), spreadsheet_text("owl")
    ("'=1+1", 'owl')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def _cell(text: str) -> str:
    text = escape_name(text)
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text
