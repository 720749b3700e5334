"""Copies and versions of one photo in a collection: found before training, they count as one and get one answer."""

import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from torch import Tensor

from legogcd.clustering import directions
from legogcd.clustering.near_duplicates import RULE, near_duplicate_sets
from legogcd.collection import Collection
from legogcd.csv_text import write_rows
from legogcd.display import Quiet
from legogcd.run.folder import NEAR_DUPLICATES
from legogcd.vision.fingerprints import fingerprints
from legogcd.vision.mapped_arrays import large_zeros
from legogcd.vision.views.sealed import Damaged, read_sealed, write_sealed
from legogcd.wording import counted

COLUMNS = ("path", "same_as")
REMEMBERED = "near-duplicates.json"  # beside the shards of kept views
Sets = Sequence[tuple[int, ...]]
_MOST_WHOLE = 50_000  # images whose features are compared as they are; of more, projections of them
_PROJECTED = 256


@dataclass(frozen=True, eq=False)
class Copies:
    """Which image stands for each image of a collection [N]: itself, or another one that is the same picture."""

    stands_in: np.ndarray

    @classmethod
    def none(cls, count: int) -> "Copies":
        """Every image stands for itself."""
        return cls(np.arange(count))

    @classmethod
    def of_sets(cls, sets: Sequence[Sequence[int]], labels: np.ndarray) -> "Copies":
        """From sets of positions that are one picture; a labelled one stands for the others.

        Images that are labelled differently are what their labels say and never stand for each other.

        >>> Copies.of_sets([(0, 2, 3)], np.array([-1, -1, 4, -1])).stands_in.tolist()
        [2, 1, 2, 2]
        """
        stands_in = np.arange(len(labels))
        for members in sets:
            labelled = [row for row in members if labels[row] >= 0]
            first = {labels[row]: row for row in reversed(labelled)}
            for row in members:
                stands_in[row] = first[labels[row]] if labels[row] >= 0 else (labelled or members)[0]
        return cls(stands_in)

    @cached_property
    def distinct(self) -> np.ndarray:
        """Positions of the images that stand for themselves, ascending: what is learned from."""
        return np.unique(self.stands_in)

    @cached_property
    def place(self) -> np.ndarray:
        """Where in ``distinct`` the image is that stands for each [N]."""
        return np.searchsorted(self.distinct, self.stands_in)

    @property
    def extra(self) -> int:
        """How many images another one stands for."""
        return len(self.stands_in) - len(self.distinct)

    def sentence(self) -> str | None:
        """What to say of them; None where there are none."""
        if not self.extra:
            return None
        sizes = np.bincount(self.place)
        photos = int((sizes > 1).sum())
        largest = f", up to {sizes.max()} of one" if photos > 1 and sizes.max() > 2 else ""
        what = "one photo" if photos == 1 else counted(photos, "photo")
        return (
            f"{self.extra + photos} images are copies, versions or a burst of {what}{largest}: each photo counts once "
            f"and gets one answer ({NEAR_DUPLICATES}; --near-duplicates apart turns this off)"
        )


def find_sets(collection: Collection, features: Iterable[Tensor], display: Quiet, folder: Path | None = None) -> Sets:
    """Sets of positions that are one picture, from the collection's untrained features in batches [n, D].

    ``folder`` has room for what very many images take meanwhile.
    """

    def pictures(rows: np.ndarray) -> np.ndarray:
        with display.counting("looking for copies of one photo", len(rows)) as progress:
            return fingerprints(collection.images, rows, progress, folder)

    return near_duplicate_sets(_directions(features, len(collection), folder), pictures)


def _directions(features: Iterable[Tensor], count: int, folder: Path | None) -> np.ndarray:
    units: np.ndarray = np.zeros((0, 0), np.float32)
    done = 0
    for batch in features:
        made = _compact(batch.cpu().numpy(), count)
        if not done:
            units = large_zeros((count, made.shape[1]), np.float32, folder)
        units[done : done + len(made)] = made
        done += len(made)
    return units


def remembered_sets(folder: Path | None, rows: np.ndarray) -> Sets | None:
    """What was found in these kept views before, of the same images ``rows`` [N] by the same rule."""
    try:
        there = read_sealed(folder / REMEMBERED) if folder is not None else None
    except (Damaged, OSError):
        return None
    if there is None or there.get("of") != _searched(rows):
        return None
    return [tuple(members) for members in there["sets"]]


def remember_sets(folder: Path | None, rows: np.ndarray, sets: Sets) -> None:
    """Spare the next run on the same views the search."""
    if folder is not None:
        with suppress(OSError):
            write_sealed(folder / REMEMBERED, {"of": _searched(rows), "sets": [list(members) for members in sets]})


def _searched(rows: np.ndarray) -> list[int]:
    return [RULE, len(rows), zlib.crc32(np.ascontiguousarray(rows, np.int64).tobytes())]


def _compact(features: np.ndarray, count: int) -> np.ndarray:
    """Directions [n, D]; of very many images in 256 random dimensions, which nearly keep the angles."""
    units = directions(features)
    if count <= _MOST_WHOLE or units.shape[1] <= _PROJECTED:
        return units
    axes = np.random.default_rng(0).normal(size=(units.shape[1], _PROJECTED)).astype(np.float32)
    return directions(units @ axes)


def write_copies(folder: Path, names: Sequence[str], copies: Copies) -> None:
    """near_duplicates.csv: each image that another one stands for, and which."""
    pairs = enumerate(copies.stands_in.tolist())
    write_rows(folder / NEAR_DUPLICATES, COLUMNS, ((names[row], names[of]) for row, of in pairs if row != of))
