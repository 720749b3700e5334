"""Images that belong to none of a run's categories: how strange one is, and from where on it counts as a stranger.

The score is the distance to the nearest prototype, 1 − max_k z_k of an image's logits z. A probability only says which
category fits best; the distance says how well it fits. What is usual is read from the run's own unlabelled images, so
no stranger has to be known: ``strangeness`` is the share of them that fit better, and an image above 1 − r of them is
called a stranger, as about r of the images that belong would be too. Held against other scores in docs/accuracy.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

FALSE_ALARMS = 0.05  # share of the images that belong to a category and are called strangers all the same
FEWEST = 20  # images from which what is usual can be told
_STEPS = 200


def nearest_distance(logits: Floats) -> NDArray[np.float64]:
    """How far images are from the nearest category [N], from logits [N, K]; cosines, where a method has prototypes.

    >>> nearest_distance(np.array([[0.9, 0.1], [0.25, 0.25]])).round(3).tolist()
    [0.1, 0.75]
    """
    return np.asarray(1 - np.asarray(logits, np.float64).max(axis=1))


@dataclass(frozen=True)
class Strangers:
    """What is usual in a run: how far ``images`` of its own are from the nearest category, in 201 quantiles, rising.

    >>> usual = usual_distances(np.arange(101.0))
    >>> usual.strangeness(np.array([-5.0, 50.0, 97.0, 500.0])).tolist()
    [0.0, 0.5, 0.97, 1.0]
    >>> usual.strangers(np.array([94.0, 97.0]), false_alarms=0.05).tolist()
    [False, True]
    """

    images: int
    quantiles: tuple[float, ...]

    def strangeness(self, distances: Floats) -> NDArray[np.float64]:
        """The share of the run's own images that fit their category better [N], 0 to 1."""
        levels = np.linspace(0, 1, len(self.quantiles))
        return np.asarray(np.interp(distances, self.quantiles, levels))

    def strangers(self, distances: Floats, false_alarms: float = FALSE_ALARMS) -> NDArray[np.bool_]:
        """Which images [N] belong to no category, if ``false_alarms`` of those that do may be called strangers too."""
        return np.asarray(distances > np.quantile(self.quantiles, 1 - false_alarms))


def usual_distances(distances: Floats) -> Strangers | None:
    """What is usual, from the distances [N] of a run's own images; None where there are too few to tell."""
    if len(distances) < FEWEST:
        return None
    found = np.quantile(np.asarray(distances, np.float64), np.linspace(0, 1, _STEPS + 1))
    return Strangers(len(distances), tuple(round(float(value), 6) for value in found))
