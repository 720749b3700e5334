"""What a paper's data set is: facts, where it lies on disk, and its images in file order with their classes."""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from legogcd.collection import Images
from legogcd.errors import UserError

SplitName: TypeAlias = Literal["train", "test"]
Fault: TypeAlias = Callable[[str], None]
"""Told what is wrong in one line: raises to stop a loader, or notes it and lets the loader go on without that row."""


@dataclass(frozen=True, eq=False)
class DatasetSplit:
    """A split's images in file order, ``classes`` [N] int64 in the data set's official order, and their names."""

    images: Images
    classes: NDArray[np.int64]
    class_names: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.classes.shape != (len(self.images),):
            raise ValueError(f"classes have shape {self.classes.shape}, expected ({len(self.images)},)")
        if self.classes.size and not 0 <= self.classes.min() <= self.classes.max() < len(self.class_names):
            raise ValueError(f"classes must be positions among {len(self.class_names)} names")

    def repeated(self) -> list[str]:
        """Names of images that are there more than once."""
        counts = Counter(self.images.names)
        return [name for name, count in counts.items() if count > 1]


Reader: TypeAlias = Callable[[Path, SplitName, Fault], DatasetSplit]


@dataclass(frozen=True)
class Archive:
    """An official file that may be fetched directly, with its published checksum."""

    url: str
    file: str
    md5: str


@dataclass(frozen=True)
class PaperDataset:
    """One of the paper's data sets.

    ``folders`` are the sub-folders of a root it may lie in; ``marks`` are glob patterns, best first, one of which must
    match there; ``pickles`` match a form that could run code when read. ``exact`` is false where the number of training
    images is only about right.

    For one that the paper does not have, ``n_old`` is the number of Old classes (half of them, if not given) and
    ``recipe`` the published recipe to train with; for the paper's they are as published. Old are the first classes,
    unless ``old_drawn``: then they are drawn with seed 0.
    """

    name: str
    title: str
    n_classes: int
    train_images: int
    test_images: int
    size: str
    license: str
    source: str
    layout: str
    folders: tuple[str, ...]
    marks: tuple[str, ...]
    read: Reader
    exact: bool = True
    pickles: tuple[str, ...] = ()
    archive: Archive | None = None
    n_old: int | None = None
    old_drawn: bool = False
    recipe: str | None = None

    def find(self, root: str | os.PathLike[str]) -> Path | None:
        """The folder of this data set at or below ``root``; None where there is none."""
        return self._first_match(root, self.marks)

    def home(self, root: str | os.PathLike[str]) -> Path:
        """The folder of this data set at or below ``root``."""
        folder = Path(root).expanduser()
        if not folder.is_dir():
            what = "is a file; give the folder that holds it" if folder.exists() else "does not exist"
            raise UserError(f"the folder for {self.title}, {str(folder)!r}, {what}")
        found = self.find(folder)
        if found is not None:
            return found
        if self._first_match(folder, self.pickles) is not None:
            raise UserError(
                f"{str(folder)!r} holds the Python version of {self.title}: pickles, which can run code and are never "
                f"read here; get the binary version, {self.archive.url if self.archive else self.source}"
            )
        raise UserError(f"{self.title} is not in {str(folder)!r}; expected {self.layout}")

    def load(self, root: str | os.PathLike[str], split: SplitName) -> DatasetSplit:
        """The images and classes of one split; the first thing wrong with it is raised."""

        def stop(message: str) -> None:
            raise UserError(f"{message}; `legogcd datasets check {self.name}` lists all that is wrong")

        loaded = self.read(self.home(root), split, stop)
        if not len(loaded.images):
            raise UserError(f"{self.title} in {str(root)!r} has no {split} image; expected {self.layout}")
        for repeated in loaded.repeated():
            stop(f"{repeated} is listed twice")
        return loaded

    def _first_match(self, root: str | os.PathLike[str], patterns: tuple[str, ...]) -> Path | None:
        folder = Path(root).expanduser()
        places = [folder, *(folder / name for name in (self.name, *self.folders))]
        for pattern in patterns:
            for place in places:
                if place.is_dir() and next(place.glob(pattern), None) is not None:
                    return place
        return None
