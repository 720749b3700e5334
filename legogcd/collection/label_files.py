"""Labels and truth from CSV files, however their paths are spelled."""

import os
import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from legogcd.collection.collection import Truth
from legogcd.collection.folder_search import is_image_name
from legogcd.collection.group_names import check_not_reserved
from legogcd.collection.images import ImageFiles, Note, Searched, is_file
from legogcd.csv_text import CsvRow, parse_rows, read_csv_text, unescape_name
from legogcd.errors import UserError
from legogcd.wording import counted, some_of

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def read_labels(path: str | os.PathLike[str], images: Searched, note: Note | None = None) -> dict[str, str]:
    """Read a CSV with the columns ``path`` and ``label``; paths are relative to the image folder.

    An empty label means unlabelled. A file name that is not UTF-8 stands as its bytes or as ``csv_text`` escapes it.
    Labels of files that the search left out are passed over. What spreadsheets make of a CSV (semicolons or tabs for
    commas, UTF-16, Latin-1) is read where it can mean one thing only, and told to ``note``. Returns label by image
    name, of labelled images only.
    """
    labels, ghosts = _read_table(path, images, note)
    if ghosts:
        raise UserError(_ghost_message(path, ghosts, images))
    check_not_reserved(labels.values())
    return labels


def labels_in(path: str | os.PathLike[str]) -> set[str]:
    """The different labels of a CSV file, whatever its paths mean; a file that cannot be read as one is said."""
    return {row.cells[1] for row in _rows(path)} - {""}


def read_truth(path: str | os.PathLike[str], images: Searched, note: Note | None = None) -> Truth:
    """Read true classes from a CSV as ``read_labels`` does; rows of images that are not there are only counted."""
    labels, ghosts = _read_table(path, images, note)
    if not labels:
        if ghosts:
            raise UserError(_ghost_message(path, ghosts, images))
        raise UserError(f"{str(path)!r} names no true class: every label in it is empty")
    return Truth(labels, unmatched=len(ghosts))


def _read_table(path: str | os.PathLike[str], images: Searched, note: Note | None) -> tuple[dict[str, str], list[str]]:
    """Label by image name from a CSV, and the paths in it that are no images of the collection."""
    find = _Finder(images)
    labels: dict[str, str] = {}
    ghosts: list[str] = []
    for row in _in_one_alphabet(_rows(path, note), find, repr(str(path)), note):
        given, label = row.cells
        name = find(given) or find(unescape_name(given))
        if name is None:
            if not _was_skipped(given, images):
                ghosts.append(given)
        elif label and labels.setdefault(name, label) != label:
            raise UserError(
                f"{str(path)!r} line {row.line}: {name!r} is labelled {label!r} here and {labels[name]!r} before; "
                "keep one"
            )
    return labels, list(dict.fromkeys(ghosts))


def _was_skipped(given: str, images: Searched) -> bool:
    """Whether the search left this image out: the label is no mistake, and the reason is told elsewhere."""
    return is_image_name(given) and posixpath.normpath(unescape_name(given)) in images.skipped


def _in_one_alphabet(rows: list[CsvRow], find: "_Finder", shown: str, note: Note | None) -> list[CsvRow]:
    """The rows as text: cells whose bytes are not UTF-8 are read as Latin-1 where nothing else can be meant.

    A path that is an image's name byte for byte stays as it is; another one must be an image's name once it is read
    so. A label can mean one thing only where a path has shown how the file was written, or where Western and Central
    European text have the same letters.
    """
    odd_paths = [row for row in rows if _is_not_utf8(row.cells[0]) and find(row.cells[0]) is None]
    odd_labels = [row for row in rows if _is_not_utf8(row.cells[1])]
    for row in odd_paths:
        if find(_western(row.cells[0]) or "") is None:
            raise UserError(_not_utf8(shown, row.line))
    for row in odd_labels:
        western, central = _western(row.cells[1]), _decoded(row.cells[1], "cp1250")
        if western is None or (western != central and not odd_paths):
            either = f" ({western!r} or {central!r}?)" if western and central else ""
            raise UserError(_not_utf8(shown, row.line, either))
    read = {row.line: [_western(row.cells[0]) or "", row.cells[1]] for row in odd_paths}
    for row in odd_labels:
        read[row.line] = [read.get(row.line, row.cells)[0], _western(row.cells[1]) or ""]
    if read and note is not None:
        words = [_western(row.cells[0]) for row in odd_paths] + [_western(row.cells[1]) for row in odd_labels]
        note(f"{shown} is not UTF-8: read as Latin-1 ({some_of(sorted({word for word in words if word}), 3)})")
    return [CsvRow(row.line, read.get(row.line, row.cells)) for row in rows]


def _western(cell: str) -> str | None:
    """The cell as Latin-1 text; None where its bytes are no letters there, or words of another alphabet."""
    text = _decoded(cell, "latin-1")
    if text is None or any("\x80" <= letter <= "\xbf" or letter in "×÷" for letter in text):
        return None
    return None if re.search("[\xc0-\xff]{3}", text) else text


def _decoded(cell: str, encoding: str) -> str | None:
    try:
        return cell.encode("utf-8", "surrogateescape").decode(encoding)
    except UnicodeDecodeError:
        return None


def _rows(path: str | os.PathLike[str], note: Note | None = None) -> list[CsvRow]:
    """Every row that is not blank, its cells being path and label as written."""
    shown = repr(str(path))
    text = read_csv_text(path)
    if not text.strip():
        raise UserError(f"{shown} is empty; expected a CSV with the header 'path,label'")
    delimiter = _delimiter(text)
    if delimiter != "," and note is not None:
        note(f"{shown}: its columns are separated by {_DELIMITERS[delimiter]}")
    table = parse_rows(text, shown, delimiter)
    header = [cell.strip().lower() for cell in next(table).cells]
    path_column, label_column = _columns(header, shown)
    rows = []
    for row in table:
        if not any(cell.strip() for cell in row.cells):
            continue
        if len(row.cells) != len(header):
            raise UserError(
                f"{shown} line {row.line} has {counted(len(row.cells), 'cell')}, the header {len(header)}; "
                f'put names that hold a {_DELIMITERS[delimiter].removesuffix("s")} in "quotes"'
            )
        if not row.cells[path_column].strip():
            raise UserError(f"{shown} line {row.line} has no path")
        rows.append(CsvRow(row.line, [row.cells[path_column], row.cells[label_column].strip()]))
    if not rows:
        raise UserError(f"{shown} has a header but no rows; expected lines such as 'cats/tom.jpg,cat'")
    return rows


def _columns(header: list[str], shown: str) -> tuple[int, int]:
    """Where paths and labels stand."""
    if any(map(_is_not_utf8, header)):
        raise UserError(_not_utf8(shown, 1))
    if header.count("path") != 1 or header.count("label") != 1:
        raise UserError(f"{shown} needs the header 'path,label'; it begins with {','.join(header)[:80]!r}")
    return header.index("path"), header.index("label")


def _delimiter(text: str) -> str:
    """What separates the columns: that which makes ``path`` and ``label`` two cells of the first line."""
    first = text.lstrip().splitlines()[0]
    for delimiter in _DELIMITERS:
        cells = [cell.strip().strip('"').strip().lower() for cell in first.split(delimiter)]
        if {"path", "label"} <= set(cells):
            return delimiter
    return ","


def _is_not_utf8(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _not_utf8(shown: str, line: int, either: str = "") -> str:
    return f"{shown} line {line} is not UTF-8 text{either}; save it as 'CSV UTF-8'"


class _Finder:
    """Which image a written path means: exactly, or up to spelling (slashes, ``./``, the root, Unicode form)."""

    def __init__(self, images: Searched) -> None:
        self._roots = {f"{root.rstrip('/')}/" for root in _roots(images)}
        self._exact = frozenset(images.names)
        spelled = [(self._spelling(name), name) for name in images.names]
        shared = Counter(key for key, _ in set(spelled))
        self._by_spelling = {key: name for key, name in spelled if shared[key] == 1}

    def __call__(self, written: str) -> str | None:
        for path in (written, written.strip()):
            if path in self._exact:
                return path
            name = self._by_spelling.get(self._spelling(path))
            if name is not None:
                return name
        return None

    def _spelling(self, path: str) -> str:
        path = path.replace("\\", "/")
        for root in self._roots:
            path = path.removeprefix(root)
        return unicodedata.normalize("NFC", posixpath.normpath(path))


def _roots(images: Searched) -> list[str]:
    """How the place of the images may be spelled before a name."""
    if isinstance(images, ImageFiles):
        return [root.as_posix() for root in (images.root.absolute(), images.root.resolve())]
    return [images.root]


def _ghost_message(path: str | os.PathLike[str], ghosts: Sequence[str], images: Searched) -> str:
    root = images.root if isinstance(images, ImageFiles) else None
    files = [ghost for ghost in ghosts if root is not None and not is_image_name(ghost) and is_file(root / ghost)]
    if len(files) == len(ghosts):
        return f"{str(path)!r} labels {counted(len(files), 'file')} not taken for an image: {some_of(files, 3)}"
    kinds = f" ({len(files)} of them other files)" if files else ""
    return (
        f"{str(path)!r} labels {counted(len(ghosts), 'image')} not there{kinds}: {some_of(ghosts, 3)}; "
        f"paths are relative to {str(images.root)!r}"
    )
