"""Get the views a run asks for within the disk it may use: kept, fewer kept, or fresh ones."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from legogcd.collection import Images
from legogcd.display import Quiet
from legogcd.errors import UnreadableImage
from legogcd.files import cache_folder
from legogcd.vision.decode import read_rgb
from legogcd.vision.views.draw import ViewRule
from legogcd.vision.views.encode import Encoder, map_ahead
from legogcd.vision.views.fresh import FreshViews
from legogcd.vision.views.kept import KeptViews
from legogcd.vision.views.request import ViewRequest
from legogcd.vision.views.source import ViewSource
from legogcd.vision.views.store import Engine, bytes_there, complete_kept, find_kept, here
from legogcd.vision.views.uses import note_use
from legogcd.wording import human_bytes

DEFAULT_VIEWS = 4
Views = int | Literal["fresh"]


@dataclass(frozen=True)
class ViewStorage:
    """How many views to keep, where, in what form, and how much disk they may take (None: half of what is free)."""

    views: Views = DEFAULT_VIEWS
    cache: Path | None = None
    disk_budget: int | None = None
    dtype: str = "bf16"
    seed: int = 0
    by_content: bool = False  # images are known again by what is in them, not by name, size and time

    @property
    def folder(self) -> Path:
        return self.cache or cache_folder()

    def budget(self) -> int:
        if self.disk_budget is not None:
            return self.disk_budget
        there = next(path for path in (self.folder.absolute(), *self.folder.absolute().parents) if path.exists())
        return shutil.disk_usage(there).free // 2


@dataclass(frozen=True)
class OpenedViews:
    """A source of views, and the images that turned out unreadable, by row."""

    source: ViewSource
    unreadable: dict[int, str]
    seconds: float
    kept_in: str = ""  # the name of the folder in the cache; empty where nothing is kept

    @property
    def folder(self) -> Path | None:
        """Where views are kept; None where nothing is."""
        kept = self.source.kept if isinstance(self.source, FreshViews) else self.source
        return kept.folder if isinstance(kept, KeptViews) else None


def affordable_views(n_images: int, bytes_per_view: int, wanted: int, budget: int) -> int | None:
    """The most random views that fit beside the evaluation view: ``wanted`` to 2, else 0 (it alone), else None.

    >>> affordable_views(1000, 30_000, wanted=8, budget=150_000_000)
    4
    >>> affordable_views(1000, 30_000, wanted=8, budget=60_000_000), affordable_views(1000, 30_000, 8, 1_000)
    (0, None)
    """
    fitting = budget // (n_images * bytes_per_view) - 1
    if fitting >= min(wanted, 2):
        return min(wanted, fitting)
    return 0 if fitting >= 0 else None


def open_views(
    encoder: Encoder, images: Images, storage: ViewStorage, display: Quiet, engine: Engine = here
) -> OpenedViews:
    """Kept views from the cache, made where missing; fewer of them, then fresh ones, where the disk is short."""
    began = time.monotonic()
    wanted = 0 if storage.views == "fresh" else storage.views
    request = ViewRequest(encoder, images, wanted, storage.seed, storage.dtype, storage.by_content)
    kept = find_kept(request, storage.folder, display.warn)
    if kept is None:
        affordable = affordable_views(len(images), request.bytes_per_view, wanted, _budget(request, storage))
        if affordable != wanted:
            _tell_shortage(affordable, request, storage, display)
        if affordable is None:
            source: ViewSource = FreshViews(encoder, images)
            return OpenedViews(source, _find_unreadable(images, encoder.rule, display), time.monotonic() - began)
        if affordable != wanted:
            request = request.with_views(affordable)
            kept = find_kept(request, storage.folder, display.warn)
    if kept is None:
        kept = _complete_with_progress(request, storage, display, engine)
    else:
        display.note(f"using kept views of {len(images)} images ({_what(request)}) in {kept.folder}")
    note_use(storage.folder, kept.folder.name, images, storage.by_content)
    source = kept if request.views >= 2 else FreshViews(encoder, images, kept)
    return OpenedViews(source, kept.unreadable, time.monotonic() - began, kept.folder.name)


def _budget(request: ViewRequest, storage: ViewStorage) -> int:
    """Half of the free disk counts what is there already as free, or a start that was interrupted would end smaller."""
    return storage.budget() + (bytes_there(request, storage.folder) if storage.disk_budget is None else 0)


def _complete_with_progress(request: ViewRequest, storage: ViewStorage, display: Quiet, engine: Engine) -> KeptViews:
    count, size = len(request.images), human_bytes(request.size_on_disk)
    display.note(f"keeping {_what(request)} of {count} images: {size} in {storage.folder}")
    with display.counting("encoding images", count) as progress:
        return complete_kept(request, storage.folder, progress, display.warn, engine)


def _what(request: ViewRequest) -> str:
    return f"{request.views} views and the evaluation view" if request.views else "the evaluation view"


def _tell_shortage(affordable: int | None, request: ViewRequest, storage: ViewStorage, display: Quiet) -> None:
    need, have = human_bytes(request.size_on_disk), human_bytes(storage.budget())
    instead = "encoding fresh views every epoch, which is slow" if not affordable else f"keeping {affordable} views"
    display.warn(
        f"{request.views} kept views need {need}, the disk budget is {have}: {instead} (--disk-budget, --cache)"
    )


def _find_unreadable(images: Images, rule: ViewRule, display: Quiet) -> dict[int, str]:
    def check(row: int) -> str | None:
        try:
            read_rgb(images.item(row), size_hint=rule.size_hint)
        except UnreadableImage as unreadable:
            return unreadable.reason
        return None

    bad: dict[int, str] = {}
    with display.counting("checking images", len(images)) as progress:
        for row, reason in enumerate(map_ahead(check, range(len(images)), ahead=64)):
            if reason is not None:
                bad[row] = reason
            progress(row + 1)
    return bad
