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
from legogcd.collection.images import ImageFiles, is_file
from legogcd.csv_text import CsvRow, parse_rows, read_csv_text, unescape_name
from legogcd.errors import UserError
from legogcd.wording import counted, some_of


def read_labels(path: str | os.PathLike[str], images: ImageFiles) -> dict[str, str]:
    """Read a UTF-8 CSV with the columns ``path`` and ``label``; paths are relative to the image folder.

    An empty label means unlabelled. A file name that is not UTF-8 stands as its bytes or as ``csv_text`` escapes it.
    Labels of files that the search left out are passed over. Returns label by image name, of labelled images only.
    """
    labels, ghosts = _read_table(path, images)
    if ghosts:
        raise UserError(_ghost_message(path, ghosts, images))
    check_not_reserved(labels.values())
    return labels


def read_truth(path: str | os.PathLike[str], images: ImageFiles) -> Truth:
    """Read true classes from a CSV as ``read_labels`` does; rows of images that are not there are only counted."""
    labels, ghosts = _read_table(path, images)
    if not labels:
        if ghosts:
            raise UserError(_ghost_message(path, ghosts, images))
        raise UserError(f"{str(path)!r} names no true class: every label in it is empty")
    return Truth(labels, unmatched=len(ghosts))


def _read_table(path: str | os.PathLike[str], images: ImageFiles) -> tuple[dict[str, str], list[str]]:
    """Label by image name from a CSV, and the paths in it that are no images of the collection."""
    find = _Finder(images)
    labels: dict[str, str] = {}
    ghosts: list[str] = []
    for row in _rows(path):
        given, label = row.cells
        name = find(given) or find(unescape_name(given))
        if _is_not_utf8(label) or (name is None and _is_not_utf8(given)):
            raise UserError(_not_utf8(repr(str(path)), row.line))
        if name is None:
            if not _was_skipped(given, images):
                ghosts.append(given)
        elif label and labels.setdefault(name, label) != label:
            raise UserError(
                f"{str(path)!r} line {row.line}: {name!r} is labelled {label!r} here and {labels[name]!r} before; "
                "keep one"
            )
    return labels, list(dict.fromkeys(ghosts))


def _was_skipped(given: str, images: ImageFiles) -> bool:
    """Whether the search left this image out: the label is no mistake, and the reason is told elsewhere."""
    return is_image_name(given) and posixpath.normpath(unescape_name(given)) in images.skipped


def _rows(path: str | os.PathLike[str]) -> list[CsvRow]:
    """Every row that is not blank, its cells being path and label as written."""
    shown = repr(str(path))
    text = read_csv_text(path)
    if not text.strip():
        raise UserError(f"{shown} is empty; expected a CSV with the header 'path,label'")
    table = parse_rows(text, shown)
    header = [cell.strip().lower() for cell in next(table).cells]
    path_column, label_column = _columns(header, shown)
    rows = []
    for row in table:
        if not any(cell.strip() for cell in row.cells):
            continue
        if len(row.cells) != len(header):
            raise UserError(
                f"{shown} line {row.line} has {counted(len(row.cells), 'cell')}, the header {len(header)}; "
                'put names that hold a comma in "quotes"'
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
        hint = "; separate the columns by commas" if len(header) == 1 and re.search("[;\t]", header[0]) else ""
        raise UserError(f"{shown} needs the header 'path,label'; it begins with {','.join(header)[:80]!r}{hint}")
    return header.index("path"), header.index("label")


def _is_not_utf8(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _not_utf8(shown: str, line: int) -> str:
    return f"{shown} line {line} is not UTF-8 text; save it as 'CSV UTF-8'"


class _Finder:
    """Which image a written path means: exactly, or up to spelling (slashes, ``./``, the root, Unicode form)."""

    def __init__(self, images: ImageFiles) -> None:
        self._roots = {f"{root.as_posix().rstrip('/')}/" for root in (images.root.absolute(), images.root.resolve())}
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


def _ghost_message(path: str | os.PathLike[str], ghosts: Sequence[str], images: ImageFiles) -> str:
    files = [ghost for ghost in ghosts if not is_image_name(ghost) and is_file(images.root / ghost)]
    if len(files) == len(ghosts):
        return f"{str(path)!r} labels {counted(len(files), 'file')} not taken for an image: {some_of(files, 3)}"
    kinds = f" ({len(files)} of them other files)" if files else ""
    return (
        f"{str(path)!r} labels {counted(len(ghosts), 'image')} not there{kinds}: {some_of(ghosts, 3)}; "
        f"paths are relative to {str(images.root)!r}"
    )
