"""What an estimate of the number of classes is, and the images that are searched for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Progress = Callable[[int, float], None]

MOST_CLASSES = 1_000  # the GCD paper's bound
_MOST_IMAGES = 5_000  # clustered per candidate: 1,000 clusters then still take seconds
_DIMENSIONS = 64  # principal directions that are clustered: the others hold little but noise
_CANDIDATES = 24


@dataclass(frozen=True)
class Estimate:
    """How many classes there are, the interval that is likely to hold the number, and the scores it was read from.

    ``curve`` holds candidates, rising, with their score (higher is better), ``score_name`` says what that is.
    ``parts`` are the estimates this one is made of, if it is.
    """

    classes: int
    low: int
    high: int
    curve: list[tuple[int, float]]
    approach: str
    score_name: str
    parts: tuple["Estimate", ...] = ()


class Sample(NamedTuple):
    """Images that are clustered: points [M, d], and their classes [M], -1 where unlabelled."""

    points: NDArray[np.float32]
    labels: NDArray[np.int64]
    n_known: int


def draw_sample(points: NDArray[np.float32], labels: NDArray[np.int64], seed: int) -> Sample:
    """At most 5,000 images, at least one of each class, in the 64 directions along which they differ most."""
    from sklearn.decomposition import PCA

    chosen = np.arange(len(points))
    if len(points) > _MOST_IMAGES:
        order = np.random.default_rng(seed).permutation(len(points))
        first_of_class = order[np.unique(labels[order], return_index=True)[1]]
        others = order[~np.isin(order, first_of_class)]
        chosen = np.sort(np.concatenate([first_of_class, others[: max(0, _MOST_IMAGES - len(first_of_class))]]))
    points, labels = points[chosen], labels[chosen]
    if min(points.shape) > _DIMENSIONS:
        points = PCA(_DIMENSIONS, random_state=seed).fit_transform(points)
    return Sample(points.astype(np.float32), labels, int(labels.max()) + 1)


def candidates(fewest: int, most: int) -> list[int]:
    """Whole numbers from ``fewest`` to ``most``, both included, evenly spaced in their logarithm.

    >>> candidates(3, 7), candidates(10, 1000)[-3:]
    ([3, 4, 5, 6, 7], [670, 819, 1000])
    """
    return sorted({round(float(k)) for k in np.geomspace(fewest, max(fewest, most), _CANDIDATES)})


class Share(NamedTuple):
    """An estimate of 1/K, the share of the images that a class has on average, and its standard error."""

    value: float
    error: float

    def estimate(self, fewest: int, most: int, approach: str, parts: tuple[Estimate, ...] = ()) -> Estimate:
        """K in [fewest, most], the interval of two standard errors, and the likelihood of candidates around it."""

        def classes(share: float) -> float:
            return min(max(1 / share, fewest), most) if share > 0 else most

        best = round(classes(self.value))
        low = min(best, int(classes(self.value + 2 * self.error)))
        high = max(best, int(np.ceil(classes(self.value - 2 * self.error))))
        shown = candidates(fewest, min(most, max(2 * high, fewest + 2)))
        curve = [(k, self._likelihood(k, classes(self.value))) for k in sorted({*shown, low, best, high})]
        return Estimate(best, low, high, curve, approach, "likelihood, relative to the best", parts)

    def _likelihood(self, k: int, best: float) -> float:
        off, at_best = (1 / k - self.value) / self.error, (1 / best - self.value) / self.error
        return float(np.exp(0.5 * (at_best**2 - off**2)))
