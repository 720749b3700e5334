"""How well labelled images tell their categories apart, before anything is trained."""

import numpy as np
from numpy.typing import NDArray

from legogcd.clustering import directions
from legogcd.clustering.group_sums import group_sums
from legogcd.evaluation.strangers import Nearness


def found_again(points: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """The share of points [N, D] of length 1 that are nearer to the mean of their own class, taken without them, than
    to that of any other; labels [N] are all given.

    Nothing is left of a class of one, so its only image is never found again.

    >>> points = np.array([[1, 0], [0.96, 0.28], [0, 1], [0.28, 0.96]])
    >>> found_again(points, np.array([0, 0, 1, 1])), found_again(points, np.array([0, 1, 0, 1]))
    (1.0, 0.0)
    """
    classes, places = np.unique(labels, return_inverse=True)
    means = directions(group_sums(points, places, len(classes)))
    near = Nearness.of(points @ means.T, places).without_themselves()
    return float((near.to_own > near.to_others).mean())
