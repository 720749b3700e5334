"""Images that fit no category, collected into groups of their own kind; how many there are is not known."""

import numpy as np
from numpy.typing import NDArray

from legogcd.clustering.directions import directions

FEWEST = 3  # images that make a candidate
_MOST = 3_000  # images that are clustered, as every pair is compared; the others join the nearest group
_LEAST_SILHOUETTE = 0.05  # below, no number of groups is better than one


def candidate_groups(features: NDArray[np.floating]) -> NDArray[np.int64]:
    """The group of each image [N], the largest 0, -1 where fewer than three images are alike; features are [N, D].

    Average linkage by cosine, cut where the mean silhouette is highest.

    >>> corners = np.repeat(np.eye(3), [5, 4, 1], axis=0) + 0.01 * np.random.default_rng(0).normal(size=(10, 3))
    >>> candidate_groups(corners).tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, -1]
    """
    if len(features) < FEWEST:
        return np.full(len(features), -1)
    units = directions(np.asarray(features, np.float32))
    chosen = np.sort(np.random.default_rng(0).permutation(len(units))[:_MOST])
    found = _best_cut(units[chosen])
    if len(chosen) < len(units):
        centers = directions(np.stack([units[chosen][found == number].mean(axis=0) for number in np.unique(found)]))
        found = (units @ centers.T).argmax(axis=1)
    return _by_size(found)


def _best_cut(units: NDArray[np.float32]) -> NDArray[np.int64]:
    """Groups [N] of the cut of the tree with the highest silhouette; one group where none is much better than none."""
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.metrics import silhouette_score

    best, score = np.zeros(len(units), np.int64), _LEAST_SILHOUETTE
    apart = np.maximum(1 - units @ units.T, 0)
    np.fill_diagonal(apart, 0)
    for count in sorted({round(k) for k in np.geomspace(2, max(2, len(units) // FEWEST), 24)}):
        if count >= len(units):
            break
        found = AgglomerativeClustering(count, metric="precomputed", linkage="average").fit_predict(apart)
        reached = float(silhouette_score(apart, found, metric="precomputed"))
        if reached > score:
            best, score = found.astype(np.int64), reached
    return best


def _by_size(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Groups renumbered, the largest first; -1 where one is too small to be a candidate."""
    numbers, index, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    place = np.empty(len(numbers), np.int64)
    place[order] = np.arange(len(numbers))
    place[sizes < FEWEST] = -1
    return np.asarray(place[index])
