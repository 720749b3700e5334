"""Images put where a format wants them: as links or copies, never moved."""

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from legogcd.export.items import Item

Link: TypeAlias = Literal["symlink", "hard", "copy"]

_BAD_NAME = {errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL}  # the file system does not take this name, others it does


@dataclass
class Placed:
    """What a person should know, and the images that could not be placed, with the reason."""

    notes: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def place(files: Sequence[tuple[Item, Path]], link: Link, progress: Callable[[int, int], None]) -> Placed:
    """Put each image at its target; where links turn out to be impossible, copy from there on and say so."""
    put, placed = _WAYS[link], Placed()
    folders: set[Path] = set()
    for done, (item, target) in enumerate(files, 1):
        try:
            if target.parent not in folders:
                target.parent.mkdir(parents=True, exist_ok=True)
                folders.add(target.parent)
            try:
                put(item.file, target)
            except OSError as error:
                if put is _copy or error.errno in _BAD_NAME:
                    raise
                placed.notes.append(f"links are not possible here ({error.strerror}): images were copied")
                put = _copy
                put(item.file, target)
        except OSError as error:
            if error.errno not in _BAD_NAME:
                raise
            placed.refused[item.name] = f"{item.name!r} cannot be written here: {error.strerror}"
        progress(done, len(files))
    return placed


def _symlink(source: Path, target: Path) -> None:
    target.symlink_to(source)


def _hard_link(source: Path, target: Path) -> None:
    os.link(os.path.realpath(source), target)


def _copy(source: Path, target: Path) -> None:
    shutil.copy2(source, target)


_WAYS: dict[str, Callable[[Path, Path], None]] = {"symlink": _symlink, "hard": _hard_link, "copy": _copy}
