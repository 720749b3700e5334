"""The images of a run that an export is to hold."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import pandas as pd

from legogcd.collection.images import is_file
from legogcd.errors import UserError
from legogcd.run.categories import current
from legogcd.run.config import RunConfig, read_config
from legogcd.run.discovery import COLUMNS

STATUSES = ("labelled", "known", "novel")


@dataclass(frozen=True)
class Include:
    """Which images to export: those of the statuses ``only``, and of the guessed ones those the model is sure of."""

    only: Collection[str] = STATUSES
    min_confidence: float = 0.0


@dataclass(frozen=True)
class Item:
    """One image. ``settled``: a person gave or confirmed its category; else ``confidence`` says how sure it is."""

    name: str
    file: Path
    category: str
    status: str
    confidence: float
    predicted: str
    settled: bool


@dataclass(frozen=True)
class Selection:
    """What to export, and what of the run a format may need beside it.

    ``names`` are all categories of the run in alphabetical order, those that no exported image is in too.
    """

    items: tuple[Item, ...]
    root: Path | None
    names: tuple[str, ...]
    model: str
    missing: tuple[str, ...] = ()
    not_asked_for: int = 0

    @property
    def categories(self) -> list[str]:
        """The categories of the exported images in alphabetical order."""
        return sorted({item.category for item in self.items})


def rows_of(run: Path) -> pd.DataFrame:
    """The rows of predictions.csv as the user's edits leave them, and whether each was ``confirmed``."""
    return current(run)


def select(run: Path, images: Path | None, include: Include, needs_images: bool) -> Selection:
    """Read a run and choose the images to export; with ``needs_images`` those without a readable file are set apart."""
    unknown = sorted(set(include.only) - set(STATUSES))
    if unknown:
        raise UserError(f"--only {unknown[0]}: expected one of {', '.join(STATUSES)}")
    if not 0 <= include.min_confidence <= 1:
        raise UserError(f"--min-confidence {include.min_confidence}: expected a number from 0 to 1")
    config, table = read_config(run), rows_of(run)
    root = _image_folder(run, config, images, needs_images)
    settled = (table["status"] == "labelled") | table["confirmed"].astype(bool)
    asked = table["status"].isin(list(include.only)) & (settled | (table["confidence"] >= include.min_confidence))
    columns = [table.loc[asked, name].tolist() for name in COLUMNS]
    items = [
        Item(name, _file(root, name), category, status, float(confidence), predicted, own)
        for name, category, status, confidence, predicted, own in zip(*columns, settled[asked].tolist(), strict=True)
    ]
    there = [not needs_images or _readable(item.file) for item in items]
    return Selection(
        items=tuple(compress(items, there)),
        root=root,
        names=tuple(sorted(set(table["category"]))),
        model=f"legogcd {config.version}, {config.method}, seed {config.options.seed}",
        missing=tuple(item.name for item, is_there in zip(items, there, strict=True) if not is_there),
        not_asked_for=len(table) - len(items),
    )


def _image_folder(run: Path, config: RunConfig, images: Path | None, needed: bool) -> Path | None:
    """Where the images are: as given, else as the run noted it; absolute, so that links to them hold anywhere."""
    folder = images or config.images.root
    if folder is None:
        if not needed:
            return None
        raise UserError(f"{run} was made from arrays, not from image files; only --to csv can export it")
    root = Path(os.path.abspath(folder))  # noqa: PTH100 (`..` goes, links stay)
    if needed and not root.is_dir():
        raise UserError(f"the image folder {str(root)!r} is not there; give the one the images are in with --images")
    return root


def _file(root: Path | None, name: str) -> Path:
    file = (root or Path()) / name
    return file.resolve() if ".." in file.parts else file


def _readable(file: Path) -> bool:
    return is_file(file) and os.access(file, os.R_OK)
