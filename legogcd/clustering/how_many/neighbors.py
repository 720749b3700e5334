"""How many classes the neighbours of the labelled images speak for."""

import numpy as np
from numpy.typing import NDArray

from legogcd.clustering.how_many.estimate import Share

_NEIGHBOURS = 10
_MOST_QUERIES = 4_000  # labelled images whose neighbours are looked up
_CHUNK_CELLS = 8_000_000  # similarities held at a time: 32 MB
_FEWEST_KNOWN = 3  # the jackknife leaves one out, and B takes two


def share_of_a_class(points: NDArray[np.float32], labels: NDArray[np.int64], seed: int) -> Share | None:
    """1/K from who is among the k = 10 nearest neighbours of labelled images; ``points`` [N, D], ``labels`` [N].

    Any other image is among them with probability T = k/(N − 1). Labels tell the same for images of the same class,
    A, and for those of another class, B. A share q of the other images being of the same class, T = q·A + (1 − q)·B, so

        q = (T − B) / (A − B),  1/K = (q·(N − 1) + 1) / N, which counts the image itself.

    No image is put into a cluster, so that classes need not be clusters: they may overlap (B) or fall apart (A). What
    is needed is that new classes are like the known ones in how they overlap, and on average in size. The standard
    error is the jackknife's over known classes, which tells how much they differ in both, and that of the counts.

    None where the labels tell nothing: fewer than three known classes with two labelled images, or images of the same
    class that are neighbours no more often than others.
    """
    n = np.bincount(labels[labels >= 0])  # [C] labelled images of each class
    if (n > 1).sum() < _FEWEST_KNOWN:
        return None
    k = min(_NEIGHBOURS, len(points) - 1)
    queries = np.flatnonzero(labels >= 0)
    if len(queries) > _MOST_QUERIES:
        queries = np.sort(np.random.default_rng(seed).choice(queries, _MOST_QUERIES, replace=False))
    met = _labelled_neighbours(points, labels, queries, k, len(n))  # [C, C]
    asked = np.bincount(labels[queries], minlength=len(n))  # [C]
    kept = np.vstack([np.ones(len(n), dtype=bool), ~np.eye(len(n), dtype=bool)])  # all classes, then all but one
    others = _shares(met, asked, n, k / (len(points) - 1), kept)  # [1 + C] q
    value, *left_out = (others * (len(points) - 1) + 1) / len(points)
    if not np.isfinite(value):
        return None
    if not np.isfinite(left_out).all():
        return Share(float(value), np.inf)
    jackknife = (len(n) - 1) ** 0.5 * np.std(left_out)
    counts = value / met.diagonal().sum() ** 0.5
    return Share(float(value), float(np.hypot(jackknife, counts)))


def _labelled_neighbours(
    points: NDArray[np.float32], labels: NDArray[np.int64], queries: NDArray[np.int64], k: int, n_known: int
) -> NDArray[np.int64]:
    """How often [C, C] an image of the column's class is among the k nearest of a query of the row's class."""
    met = np.zeros((n_known, n_known), dtype=np.int64)
    rows = max(1, _CHUNK_CELLS // len(points))
    for begin in range(0, len(queries), rows):
        part = queries[begin : begin + rows]
        similar = points[part] @ points.T  # [rows, N]
        similar[np.arange(len(part)), part] = -np.inf  # not its own neighbour
        nearest = np.argpartition(-similar, k - 1, axis=1)[:, :k]
        theirs, own = labels[nearest], np.repeat(labels[part, None], k, axis=1)
        np.add.at(met, (own[theirs >= 0], theirs[theirs >= 0]), 1)
    return met


def _shares(
    met: NDArray[np.int64], asked: NDArray[np.int64], n: NDArray[np.int64], anyone: float, kept: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """q [S] for each row of ``kept`` [S, C], the classes that count, every query alike; NaN where A is not above B."""
    several = n > 1
    same = np.where(several, met.diagonal() / np.maximum(n - 1, 1), 0)  # [C] summed over queries
    within = (kept @ same) / np.maximum(kept @ (asked * several), 1)  # [S] A
    of_others = kept @ met.T - kept * met.diagonal()  # [S, C] neighbours from other kept classes
    others = (kept @ n)[:, None] - n  # [S, C] labelled images of other kept classes
    between = (kept * of_others / np.maximum(others, 1)).sum(axis=1) / np.maximum(kept @ asked, 1)  # [S] B
    told = within > between
    shares: NDArray[np.float64] = np.where(told, (anyone - between) / np.where(told, within - between, 1), np.nan)
    return shares
