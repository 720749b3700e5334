"""Where the classes lie among trained features: single images exchanged after all moved towards those like them."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from legogcd.clustering import directions, exchanged, semi_supervised_kmeans
from legogcd.methods.labelled_means import labelled_means

NEIGHBORS = 10
_STARTS = 10  # of k-means, each time
_CHUNK, _CELLS = 2048, 1 << 24  # rows whose neighbors are looked for at once, and their cosines at most


def settled_centers(
    seen: np.ndarray,
    labels: np.ndarray,
    found: np.ndarray,
    k: int,
    n_known: int,
    seed: int,
    known_share: float = 0.0,
    agreement: bool = False,
) -> np.ndarray:
    """One direction per class [K, D] in what the prototypes see of trained features [N, D]; labels [N], -1 for none.

    Among `toward_neighbors`, single images are exchanged from the classes ``found`` [N] that training ended with, and
    from those that semi-supervised k-means finds anew; the lower within-class sum of squares decides, and the means of
    what then belongs together count. With ``agreement`` all this is done among images that are `agreed` upon.
    """
    points = directions(seen)
    moved = toward_neighbors(points)
    search = partial(
        semi_supervised_kmeans, labels=labels, k=k, known_share=known_share, n_known=n_known, exchange=True
    )
    kept = exchanged(moved, labels, found, k, n_known, known_share)
    if agreement:
        starts = np.random.SeedSequence(seed).generate_state(_STARTS).tolist()
        moved = agreed(moved, [kept, *(search(moved, seed=start, n_init=1).labels for start in starts)])
        kept = exchanged(moved, labels, kept, k, n_known, known_share)
    anew = search(moved, seed=seed, n_init=_STARTS)
    settled = min((kept, anew.labels), key=lambda clusters: _within(moved, clusters))
    centers = directions(anew.centers)
    present = np.unique(settled)
    centers[present] = directions(labelled_means(points, settled, present))
    return centers


def agreed(points: np.ndarray, ways: Sequence[np.ndarray]) -> np.ndarray:
    """Each point [N, D] in the middle of the centers that it has in several ``ways`` [N] to cluster all of them.

    Each way is wrong about other points. What most of them put together comes close, whatever it is called in each.

    >>> agreed(np.array([[0.0], [2.0], [4.0]]), [np.array([0, 0, 1]), np.array([1, 0, 0])]).tolist()
    [[0.5], [2.0], [3.5]]
    """
    total = np.zeros_like(points)
    for clusters in ways:
        for cluster in np.unique(clusters):
            rows = clusters == cluster
            total[rows] += points[rows].mean(axis=0)
    total /= len(ways)
    return total


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
