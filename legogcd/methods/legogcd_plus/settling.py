"""Where the classes lie among trained features: k-means once more, after every image moved towards those like it."""

import numpy as np

from legogcd.clustering import directions, semi_supervised_kmeans
from legogcd.methods.labelled_means import labelled_means

NEIGHBORS = 10
_STARTS = 10  # of k-means
_CHUNK = 2048  # rows whose neighbors are looked for at once


def settled_centers(
    seen: np.ndarray, labels: np.ndarray, k: int, n_known: int, seed: int, known_share: float = 0.0
) -> np.ndarray:
    """One direction per class [K, D] in what the prototypes see of trained features [N, D]; labels [N], -1 for none.

    Semi-supervised k-means among `toward_neighbors` says which images belong together, and their own means count.
    With few images per class in many dimensions the true classes and very different ones have the same within-cluster
    sum of squares (docs/accuracy.md), so k-means alone cannot tell them apart; neighbors can.
    """
    points = directions(seen)
    found = semi_supervised_kmeans(
        toward_neighbors(points),
        labels,
        k,
        seed=seed,
        n_init=_STARTS,
        known_share=known_share,
        n_known=n_known,
        exchange=True,
    )
    centers = directions(found.centers)
    present = np.unique(found.labels)
    centers[present] = directions(labelled_means(points, found.labels, present))
    return centers


def toward_neighbors(points: np.ndarray, count: int = NEIGHBORS) -> np.ndarray:
    """Points [N, D] of length 1, each half way to the mean of its nearest others, at length 1 again.

    >>> points = directions(np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]], np.float32))
    >>> moved = toward_neighbors(points, count=1)
    >>> bool(moved[0] @ moved[1] > points[0] @ points[1])
    True
    """
    count = min(count, len(points) - 1)
    if count < 1:
        return points
    moved = np.empty_like(points)
    for begin in range(0, len(points), _CHUNK):
        rows = np.arange(begin, min(begin + _CHUNK, len(points)))
        cosines = points[rows] @ points.T  # [n, N]
        cosines[np.arange(len(rows)), rows] = -np.inf
        nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        moved[rows] = (points[rows] + points[nearest].mean(axis=1)) / 2
    return directions(moved)
