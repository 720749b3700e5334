"""What the cache holds: kept views and unpacked archives, of which images, and whether they are still of any use."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legogcd.collection import find_images
from legogcd.collection.archives import forget_unpacked, unpacked_archives
from legogcd.errors import UserError
from legogcd.vision.views.sealed import MANIFEST, Damaged, read_sealed
from legogcd.vision.views.uses import Use, forget_use, read_use

_INTERRUPTED = 24 * 3600.0  # seconds after which nobody still makes views that were begun


@dataclass(frozen=True)
class KeptThing:
    """A folder of the cache: how large, of which images, in what ``state``; a ``stale`` one can serve nobody."""

    folder: Path
    kind: str
    size: int
    source: str
    state: str
    stale: bool
    used: float  # seconds since the epoch

    @property
    def age(self) -> str:
        days = int((time.time() - self.used) // 86400)
        return "today" if days < 1 else f"{days} day{'s' * (days > 1)} ago"


def kept_things(cache: Path) -> list[KeptThing]:
    """Everything in a cache, the largest first."""
    return sorted([*_views(cache), *_archives(cache)], key=lambda thing: -thing.size)


def prune(cache: Path, unused_days: float | None = None, dry: bool = False) -> list[KeptThing]:
    """Remove what is stale, and what nobody has used for some days; says what that was. ``dry``: only say."""
    limit = time.time() - 86400 * unused_days if unused_days is not None else float("-inf")
    gone = []
    for things in (_archives, _views):  # in this order: views of an archive that goes are of no use any more
        for thing in [thing for thing in things(cache) if thing.stale or thing.used < limit]:
            gone.append(thing)
            if not dry:
                _remove(thing, cache)
    return gone


def _remove(thing: KeptThing, cache: Path) -> None:
    if thing.kind == "unpacked":
        forget_unpacked(thing.folder)
    else:
        shutil.rmtree(thing.folder, ignore_errors=True)
        forget_use(cache, thing.folder.name)


def folder_size(folder: Path) -> int:
    """Bytes of everything below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _views(cache: Path) -> Iterator[KeptThing]:
    for folder in sorted(cache.glob("views-*")):
        if not folder.is_dir():
            continue
        use = read_use(cache, folder.name)
        changed = folder.stat().st_mtime
        state, stale = _state(folder, use, changed)
        source = "images given from Python or by name" if use is None or use.root is None else use.root
        yield KeptThing(
            folder, "views", folder_size(folder), source, state, stale, max(changed, use.time if use else 0)
        )


def _state(folder: Path, use: Use | None, changed: float) -> tuple[str, bool]:
    """How a folder of views stands to its images now, and whether it is of no use any more."""
    try:
        manifest: dict[str, Any] | None = read_sealed(folder / MANIFEST)
    except (Damaged, OSError):
        return "damaged", True
    if manifest is None:
        interrupted = time.time() - changed > _INTERRUPTED
        return ("interrupted", True) if interrupted else ("being made", False)
    if use is None or use.root is None:
        return "cannot be told", False
    if not Path(use.root).exists():
        return "the images are gone", True
    try:
        now = find_images(use.root).fingerprint(content=use.by_content)
    except UserError:
        return "the images are gone", True
    return ("up to date", False) if now == manifest.get("images") else ("the images have changed", True)


def _archives(cache: Path) -> Iterator[KeptThing]:
    words = {True: "up to date", False: "the archive has changed", None: "the archive is gone: this is the only copy"}
    for folder, source, same in unpacked_archives(cache):
        used = folder.stat().st_mtime if folder.is_dir() else 0.0
        yield KeptThing(folder, "unpacked", folder_size(folder), source, words[same], same is False, used)
