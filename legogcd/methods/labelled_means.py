"""Where the labelled images of each class lie."""

from collections.abc import Sequence

import numpy as np


def labelled_means(points: np.ndarray, labels: np.ndarray, classes: Sequence[int] | np.ndarray) -> np.ndarray:
    """The mean [C, D] of the points [N, D] with each of the labels ``classes`` [C].

    >>> labelled_means(np.array([[1.0], [3.0], [8.0]]), np.array([0, 0, -1]), [0]).tolist()
    [[2.0]]
    """
    means = np.empty((len(classes), points.shape[1]), points.dtype)
    for row, known in enumerate(classes):
        means[row] = points[labels == known].mean(axis=0)
    return means
