"""Images put where a format wants them: as links or copies, never moved."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

Link: TypeAlias = Literal["symlink", "hard", "copy"]


def place(files: Sequence[tuple[Path, Path]], link: Link, progress: Callable[[int, int], None]) -> tuple[str, ...]:
    """Put each source at its target; where links turn out to be impossible, copy from there on and say so."""
    put, notes = _WAYS[link], []
    folders: set[Path] = set()
    for done, (source, target) in enumerate(files, 1):
        if target.parent not in folders:
            target.parent.mkdir(parents=True, exist_ok=True)
            folders.add(target.parent)
        try:
            put(source, target)
        except OSError as error:
            if put is _copy:
                raise
            notes.append(f"links are not possible here ({error.strerror}): images were copied")
            put = _copy
            put(source, target)
        progress(done, len(files))
    return tuple(notes)


def _symlink(source: Path, target: Path) -> None:
    target.symlink_to(source)


def _hard_link(source: Path, target: Path) -> None:
    os.link(os.path.realpath(source), target)


def _copy(source: Path, target: Path) -> None:
    shutil.copy2(source, target)


_WAYS: dict[str, Callable[[Path, Path], None]] = {"symlink": _symlink, "hard": _hard_link, "copy": _copy}
