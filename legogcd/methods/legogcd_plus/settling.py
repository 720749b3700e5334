"""Where the classes lie among trained features: single images exchanged after all moved towards those like them."""

import numpy as np

from legogcd.clustering import directions, exchanged, semi_supervised_kmeans
from legogcd.methods.labelled_means import labelled_means

NEIGHBORS = 10
_STARTS = 10  # of k-means
_CHUNK, _CELLS = 2048, 1 << 24  # rows whose neighbors are looked for at once, and their cosines at most


def settled_centers(
    seen: np.ndarray, labels: np.ndarray, found: np.ndarray, k: int, n_known: int, seed: int, known_share: float = 0.0
) -> np.ndarray:
    """One direction per class [K, D] in what the prototypes see of trained features [N, D]; labels [N], -1 for none.

    Among `toward_neighbors`, single images are exchanged from the classes ``found`` [N] that training ended with, and
    from those that semi-supervised k-means finds anew; the lower within-class sum of squares decides, and the means of
    what then belongs together count.
    """
    points = directions(seen)
    moved = toward_neighbors(points)
    anew = semi_supervised_kmeans(
        moved, labels, k, seed=seed, n_init=_STARTS, known_share=known_share, n_known=n_known, exchange=True
    )
    kept = exchanged(moved, labels, found, k, n_known, known_share)
    settled = min((kept, anew.labels), key=lambda clusters: _within(moved, clusters))
    centers = directions(anew.centers)
    present = np.unique(settled)
    centers[present] = directions(labelled_means(points, settled, present))
    return centers


def _within(points: np.ndarray, clusters: np.ndarray) -> float:
    """The sum of squared distances to the means of the clusters."""
    present, places = np.unique(clusters, return_inverse=True)
    return float(((points - labelled_means(points, clusters, present)[places]) ** 2).sum(dtype=np.float64))


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
    together = min(_CHUNK, max(1, _CELLS // len(points)))
    for begin in range(0, len(points), together):
        rows = np.arange(begin, min(begin + together, len(points)))
        cosines = points[rows] @ points.T  # [n, N]
        cosines[np.arange(len(rows)), rows] = -np.inf
        nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        moved[rows] = (points[rows] + points[nearest].mean(axis=1)) / 2
    return directions(moved)
