"""Names that every file system takes, and no two of them the same."""

import os
import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f\ud800-\udfff]')
_NOT_UTF8 = re.compile(r"[\ud800-\udfff]")  # what stands for bytes of a file name that are not UTF-8
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)", re.IGNORECASE)
_MOST_BYTES = 200  # of the 255 that file systems allow: room for a number and a tool's own endings
_ALL_BYTES = 255


def folder_names(categories: Iterable[str]) -> dict[str, str]:
    """A folder name for each category: itself where Windows, macOS and Linux all take it, else close to it.

    >>> folder_names(["owl", "a/b", "a_b", "Owl", "con"])
    {'Owl': 'Owl', 'a_b': 'a_b', 'owl': 'owl-2', 'a/b': 'a_b-2', 'con': 'con_'}
    """
    cleaned = {category: _clean(category) for category in set(categories)}
    ordered = sorted(cleaned, key=lambda category: (cleaned[category] != category, category))  # good names stay
    return dict(zip(ordered, distinct([cleaned[category] for category in ordered]), strict=True))


def distinct(names: Sequence[str], before_suffix: bool = False) -> list[str]:
    """Number the names that came before, also if they differ only in case, as some file systems see it.

    >>> distinct(["a.jpg", "A.jpg", "a-2.jpg"], before_suffix=True)
    ['a.jpg', 'A-3.jpg', 'a-2.jpg']
    """
    firsts = {_key(name): row for row, name in reversed(list(enumerate(names)))}
    taken, numbers, result = set(firsts), Counter[str](), []
    for row, name in enumerate(names):
        key = unnumbered = _key(name)
        if firsts[key] != row:
            stem, suffix = posixpath.splitext(name) if before_suffix else (name, "")
            while key in taken:
                numbers[unnumbered] += 1
                name = _fitting(stem, f"-{numbers[unnumbered] + 1}{suffix}")
                key = _key(name)
            taken.add(key)
        result.append(name)
    return result


def below(name: str) -> str:
    """The path of an image as one below another folder, not hidden; of an absolute one the last part.

    A backslash is part of a name on some systems, but tools take it for a separator everywhere; bytes that are not
    UTF-8 are part of names, but not of what tools write down.

    >>> below("2024/a.jpg"), below("/mnt/b.jpg"), below("../c.jpg")
    ('2024/a.jpg', 'b.jpg', 'c.jpg')
    """
    path = PurePosixPath(name)
    parts = path.parts[-1:] if path.is_absolute() or ".." in path.parts or ":" in path.parts[0] else path.parts
    visible = "/".join(f"_{part[len(part) > 200 :]}" if part.startswith(".") else part for part in parts)
    return _NOT_UTF8.sub("_", visible.replace("\\", "_"))


def _clean(name: str) -> str:
    name = _FORBIDDEN.sub("_", unicodedata.normalize("NFC", name))
    name = name.encode()[:_MOST_BYTES].decode(errors="ignore").strip(" ").rstrip(". ")
    name = _RESERVED.sub(r"\1_", name) if _RESERVED.match(name) else name
    return f"_{name}" if not name or name.startswith(".") else name


def _fitting(start: str, end: str) -> str:
    """Both together, without the last letters of the start where that would be too long for a file name."""
    while start and len(os.fsencode(start.rpartition("/")[2] + end)) > _ALL_BYTES:
        start = start[:-1]
    return start + end


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
