"""Every image as a point on a map: alike ones close together."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors

GRID = 4095  # coordinates are whole numbers from 0 to this
_LAID_OUT = 4000  # larger collections: so many by t-SNE, the rest beside their neighbors
_DIMENSIONS = 50
_NEIGHBORS = 5


def map_points(units: np.ndarray) -> np.ndarray:
    """Whole-number coordinates [N, 2] of features [N, D] of length 1: PCA to 50, then t-SNE; always the same.

    >>> map_points(np.eye(3)).shape
    (3, 2)
    """
    if np.ptp(units, axis=0).max(initial=0) < 1e-6:  # t-SNE would divide by zero
        return np.full((len(units), 2), GRID // 2)
    reduced = _reduced(units)
    if len(units) < 8:  # too few for t-SNE
        flat = np.pad(reduced, ((0, 0), (0, max(0, 2 - reduced.shape[1]))))[:, :2]
        return _on_grid(flat)
    random = np.random.default_rng(0)
    laid = np.sort(random.permutation(len(units))[:_LAID_OUT])
    tsne = TSNE(
        init="pca", perplexity=min(30.0, (len(laid) - 1) / 3), max_iter=500, learning_rate="auto", random_state=0
    )
    points = np.zeros((len(units), 2))
    points[laid] = tsne.fit_transform(reduced[laid])
    others = np.setdiff1d(np.arange(len(units)), laid)
    if others.size:
        near = NearestNeighbors(n_neighbors=_NEIGHBORS).fit(reduced[laid]).kneighbors(reduced[others])[1]
        jitter = random.normal(0, 0.004 * np.ptp(points[laid], axis=0).max(), (len(others), 2))
        points[others] = np.median(points[laid][near], axis=1) + jitter  # a median stays inside one of two far crowds
    return _on_grid(points)


def _reduced(units: np.ndarray) -> np.ndarray:
    dimensions = min(_DIMENSIONS, *units.shape)
    reduced: np.ndarray = PCA(dimensions, svd_solver="randomized", random_state=0).fit_transform(units)
    return reduced


def _on_grid(points: np.ndarray) -> np.ndarray:
    low, span = points.min(0), max(float(np.ptp(points, axis=0).max()), 1e-9)
    shift = (1 - np.ptp(points, axis=0) / span) / 2  # the narrow side is centered
    placed: np.ndarray = np.rint(GRID * ((points - low) / span + shift)).astype(int)
    return placed
