"""Images that belong to none of a run's categories: how strange one is, and from where on it counts as a stranger.

The score is the distance to the nearest prototype, 1 − max_k z_k of an image's logits z. A probability only says which
category fits best; the distance says how well it fits. What is usual is read from the run's own unlabelled images, so
no stranger has to be known. A prototype has come near the images it was learned from, most where they are few; so each
of them is held against its category without itself, as an image that comes later will be. ``strangeness`` is the share
of them that fit better, and an image beyond 1 − r of them is called a stranger, as about r of the images that belong
would be too. Held against other scores in docs/accuracy.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating]

FALSE_ALARMS = 0.05  # share of the images that belong to a category and are called strangers all the same
FEWEST = 20  # images from which what is usual can be told
_STEPS = 200
_NOTHING = 1e-6


def nearest_distance(logits: Floats) -> NDArray[np.float64]:
    """How far images are from the nearest category [N], from logits [N, K]; cosines, where a method has prototypes.

    >>> nearest_distance(np.array([[0.9, 0.1], [0.25, 0.25]])).round(3).tolist()
    [0.1, 0.75]
    """
    return np.asarray(1 - np.asarray(logits, np.float64).max(axis=1))


def cosine_without(cosine: ArrayLike, total: ArrayLike) -> NDArray[np.float64]:
    """Cosines [N] of images to their prototypes as these would be without them.

    A prototype points where the sum of its images' directions does; ``total`` [N] is the length of that sum, so it is
    also the sum of their cosines. Without an image of cosine c, the sum s has the cosine (sc − 1) / √(s² − 2sc + 1) to
    it. Nothing is left of a category of one image: -1.

    >>> points = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8]])
    >>> total = np.linalg.norm(points.sum(axis=0))
    >>> float(cosine_without(points[0] @ points.sum(axis=0) / total, total).round(4))
    0.7071
    >>> float((points[0] @ (points[1] + points[2]) / np.linalg.norm(points[1] + points[2])).round(4))
    0.7071
    """
    cosine, total = np.asarray(cosine, np.float64), np.asarray(total, np.float64)
    rest = np.sqrt(np.maximum(total**2 - 2 * total * cosine + 1, 0))
    alone = rest < _NOTHING
    return np.where(alone, -1.0, np.clip((total * cosine - 1) / np.where(alone, 1, rest), -1, 1))


@dataclass(frozen=True)
class Nearness:
    """How near images [N] are to the categories: to their own, which is that of their label or the nearest, and to the
    nearest other one."""

    own: NDArray[np.int64]
    to_own: Floats
    to_others: Floats

    @classmethod
    def of(cls, logits: Floats, labels: NDArray[np.int64]) -> "Nearness":
        """From logits [N, K] and the labels training saw [N], -1 where there was none."""
        rows = np.arange(len(logits))
        own = np.where(labels >= 0, labels, logits.argmax(axis=1))
        others = np.array(logits, np.float64)
        others[rows, own] = -np.inf
        return cls(own, np.asarray(logits, np.float64)[rows, own], others.max(axis=1, initial=-np.inf))

    @classmethod
    def joined(cls, parts: Sequence["Nearness"]) -> "Nearness":
        names = ("own", "to_own", "to_others")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def __getitem__(self, rows: NDArray[np.int64]) -> "Nearness":
        return Nearness(self.own[rows], self.to_own[rows], self.to_others[rows])

    def distances(self) -> NDArray[np.float64]:
        """To the nearest category [N]."""
        return np.asarray(1 - np.maximum(self.to_own, self.to_others))

    def without_themselves(self) -> "Nearness":
        """The same where each image has no part in its own category's prototype; logits must be cosines."""
        total = np.bincount(self.own, self.to_own)
        return replace(self, to_own=cosine_without(self.to_own, total[self.own]))


@dataclass(frozen=True)
class Strangers:
    """What is usual in a run: how far ``images`` of its own are from the nearest category, in 201 quantiles, rising.

    >>> usual = usual_distances(np.arange(101.0))
    >>> usual.strangeness(np.array([-5.0, 50.0, 97.0, 500.0])).round(2).tolist()
    [0.0, 0.5, 0.96, 0.99]
    >>> usual.strangers(np.array([94.0, 97.0]), false_alarms=0.05).tolist()
    [False, True]
    """

    images: int
    quantiles: tuple[float, ...]

    def strangeness(self, distances: Floats) -> NDArray[np.float64]:
        """The share of the run's own images, and of this one with them, that fit their category better [N]."""
        levels = np.linspace(0, 1, len(self.quantiles)) * self.images / (self.images + 1)
        return np.asarray(np.interp(distances, self.quantiles, levels))

    def strangers(self, distances: Floats, false_alarms: float = FALSE_ALARMS) -> NDArray[np.bool_]:
        """Which images [N] belong to no category, if ``false_alarms`` of those that do may be called strangers too."""
        level = min(1, (1 - false_alarms) * (self.images + 1) / self.images)  # from few images: what is beyond them all
        return np.asarray(distances > np.quantile(self.quantiles, level))


def usual_distances(distances: Floats) -> Strangers | None:
    """What is usual, from the distances [N] of a run's own images; None where there are too few to tell."""
    if len(distances) < FEWEST:
        return None
    found = np.quantile(np.asarray(distances, np.float64), np.linspace(0, 1, _STEPS + 1))
    return Strangers(len(distances), tuple(round(float(value), 6) for value in found))
