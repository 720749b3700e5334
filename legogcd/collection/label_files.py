"""Labels and truth from CSV files, however their paths are spelled."""

import csv
import io
import os
import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from legogcd.collection.collection import Truth
from legogcd.collection.group_names import check_not_reserved
from legogcd.collection.images import ImageFiles, is_file, is_image_name
from legogcd.errors import UserError
from legogcd.wording import counted, some_of


def read_labels(path: str | os.PathLike[str], images: ImageFiles) -> dict[str, str]:
    """Read a UTF-8 CSV with the columns ``path`` and ``label``; paths are relative to the image folder.

    An empty label means unlabelled. Returns label by image name, of labelled images only.
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
    for line, given, label in _rows(path):
        name = find(given)
        if name is None:
            ghosts.append(given)
        elif label and labels.setdefault(name, label) != label:
            raise UserError(
                f"{str(path)!r} line {line}: {name!r} is labelled {label!r} here and {labels[name]!r} before; keep one"
            )
    return labels, list(dict.fromkeys(ghosts))


def _rows(path: str | os.PathLike[str]) -> list[tuple[int, str, str]]:
    """(line, path, label) of every row that is not blank."""
    shown = str(path)
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    rows: list[tuple[int, str, str]] = []
    try:
        header = [cell.strip().lower() for cell in next(reader, [])]
        if header.count("path") != 1 or header.count("label") != 1:
            hint = "; separate the columns by commas" if len(header) == 1 and re.search("[;\t]", header[0]) else ""
            raise UserError(f"{shown!r} needs the header 'path,label'; it begins with {','.join(header)!r}{hint}")
        path_column, label_column = header.index("path"), header.index("label")
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise UserError(
                    f"{shown!r} line {reader.line_num} has {counted(len(cells), 'cell')}, the header {len(header)}; "
                    'put names that hold a comma in "quotes"'
                )
            if not cells[path_column].strip():
                raise UserError(f"{shown!r} line {reader.line_num} has no path")
            rows.append((reader.line_num, cells[path_column], cells[label_column].strip()))
    except csv.Error as error:
        raise UserError(f"{shown!r} line {reader.line_num} is not valid CSV: {error}") from None
    if not rows:
        raise UserError(f"{shown!r} has a header but no rows; expected lines such as 'cats/tom.jpg,cat'")
    return rows


def _text(path: str | os.PathLike[str]) -> str:
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{str(path)!r} is not UTF-8 text; save it as 'CSV UTF-8'") from None
    except OSError as error:
        raise UserError(f"cannot read {str(path)!r}: {error.strerror}") from None
    if not text.strip():
        raise UserError(f"{str(path)!r} is empty; expected a CSV with the header 'path,label'")
    return text


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
