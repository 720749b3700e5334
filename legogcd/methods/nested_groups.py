"""Groups of groups: the classes that semi-supervised k-means sees, and what those classes form among themselves."""

import numpy as np

from legogcd.clustering import kmeans, semi_supervised_kmeans
from legogcd.clustering.kmeans.points import TooFewPointsError


def nested_groups(
    points: np.ndarray, labels: np.ndarray, n_classes: int, n_known: int, levels: int, seed: int
) -> np.ndarray:
    """The group of every point at each level [levels, N]: K classes, then K/2 groups of them, K/4, … but at least two.

    ``points`` [N, D] have length 1; ``labels`` [N] are 0..n_known−1 or -1, and labelled points stay in their class. Of
    the further levels each is k-means on the centers of the one before, so that a group never parts what was together.

    >>> points = np.array([[0.0], [0.1], [1.0], [1.1], [5.0], [5.1], [6.0], [6.1]])
    >>> nested_groups(points, np.array([0, -1, -1, -1, -1, -1, -1, -1]), 4, 1, levels=2, seed=0).shape
    (2, 8)
    """
    try:
        found = semi_supervised_kmeans(points, labels, n_classes, seed=seed, n_init=1, n_known=n_known, exchange=True)
    except TooFewPointsError:  # fewer different images than classes: nothing can be told apart
        return np.zeros((levels, len(points)), dtype=np.int64)
    levels_found, centers = [found.labels], found.centers
    for level in range(1, levels):
        k = max(2, n_classes >> level)
        if len(np.unique(centers, axis=0)) <= k:
            levels_found.append(levels_found[-1])
            continue
        coarser = kmeans(centers, k, seed=seed)
        levels_found.append(coarser.labels[levels_found[-1]])
        centers = coarser.centers
    return np.stack(levels_found)
