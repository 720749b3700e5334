"""Ordinary k-means."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from legogcd.clustering.kmeans.points import as_points, check_enough
from legogcd.errors import UserError


class Clustering(NamedTuple):
    """Cluster of each point [N] int64, centers [K, D] float32, and the sum of squared distances to them."""

    labels: NDArray[np.int64]
    centers: NDArray[np.float32]
    inertia: float


def kmeans(features: Any, k: int, seed: int, n_init: int = 10) -> Clustering:
    """Best of ``n_init`` runs of k-means (k-means++ starts) on ``features`` [N, D].

    >>> result = kmeans([[0.0], [2.0], [8.0], [10.0]], k=2, seed=0)
    >>> sorted(result.centers.ravel().tolist()), result.inertia
    ([1.0, 9.0], 4.0)
    """
    from sklearn.cluster import KMeans

    points = as_points(features)
    if k < 1:
        raise UserError(f"{k} clusters were asked for; expected at least 1")
    check_enough(points, k, "clusters")
    model = KMeans(k, n_init=n_init, random_state=seed).fit(points)
    return Clustering(model.labels_.astype(np.int64), model.cluster_centers_.astype(np.float32), float(model.inertia_))
