"""Where new classes may start instead of at k-means' groups: the densest of the images least like any known class."""

import numpy as np
from torch import Tensor

from legogcd.clustering import exchanged
from legogcd.clustering.kmeans.means import exact_means
from legogcd.methods.kmeans_start import held_centers, trusted_centers
from legogcd.methods.legogcd_plus.whitening import principal_axes

_DIMENSIONS = 16  # principal ones, among which density is looked for: in many more everything is equally far
_FEWEST_IMAGES = 4  # of a dense group


def dense_start(
    units: np.ndarray, labels: np.ndarray, n_classes: int, n_known: int, seed: int, known_share: float
) -> Tensor:
    """Centers [K, D] as `kmeans_centers` finds them, but of new classes from `dense_groups`, as far as there are any.

    Among features of length 1 [N, D]; labels are classes 0..n_known−1, the others -1. Each dense group takes the place
    of the k-means center of a new class that is nearest to it; points are exchanged from there.
    """
    centers = held_centers(units, labels, n_classes, n_known, seed, known_share=known_share)
    free = np.ones(n_classes, bool)
    free[:n_known] = False
    for group in dense_groups(units, labels, centers[:n_known], n_classes - n_known, known_share):
        place = int(np.where(free, ((centers - group) ** 2).sum(axis=1), np.inf).argmin())
        centers[place], free[place] = group, False
    nearest = ((centers**2).sum(axis=1) / 2 - units @ centers.T).argmin(axis=1)
    begun = np.where(labels >= 0, labels, nearest)
    clusters = exchanged(units, labels, begun, n_classes, n_known, known_share)
    return trusted_centers(exact_means(units, clusters, centers), units, labels)


def dense_groups(
    units: np.ndarray, labels: np.ndarray, known: np.ndarray, most: int, known_share: float
) -> list[np.ndarray]:
    """Means [D] of the largest dense groups, at most so many, the largest first.

    HDBSCAN finds them along the principal axes of the unlabelled images that are least like any of the ``known`` means
    [n_known, D]: as many images as ``known_share`` leaves to new classes.

    >>> random = np.random.default_rng(0)
    >>> known, few, more = (random.normal(middle, 0.1, (size, 4)) for middle, size in ((0, 30), (9, 5), (-9, 8)))
    >>> points, labels = np.concatenate([known, few, more]), np.full(43, -1)
    >>> groups = dense_groups(points, labels, known.mean(0)[None], most=2, known_share=0.7)
    >>> [round(float(group[0])) for group in groups]
    [-9, 9]
    """
    from sklearn.cluster import HDBSCAN

    unlabelled = np.flatnonzero(labels < 0)
    count = min(len(unlabelled), max(_FEWEST_IMAGES * most, round((1 - known_share) * len(unlabelled))))
    if most < 1 or count <= _FEWEST_IMAGES:
        return []
    points = units[unlabelled]
    likeness = (points @ known.T - (known**2).sum(axis=1) / 2).max(axis=1) if len(known) else np.zeros(len(points))
    least_alike = points[np.argsort(likeness - (points**2).sum(axis=1) / 2, kind="stable")[:count]]
    origin = least_alike.mean(axis=0, dtype=np.float64)
    reduced = (least_alike - origin) @ principal_axes(least_alike, origin)[:, :_DIMENSIONS]
    found = HDBSCAN(min_cluster_size=_FEWEST_IMAGES, copy=True).fit_predict(reduced)
    sizes = np.bincount(found[found >= 0])
    return [least_alike[found == group].mean(axis=0) for group in np.argsort(-sizes, kind="stable")[:most]]
