"""Semi-supervised k-means: labelled points stay in their class, new clusters form among the unlabelled."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.clustering.kmeans import Clustering
from legogcd.clustering.points import as_points, check_enough
from legogcd.errors import UserError

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_CHUNK_CELLS = 4_000_000  # distances held at a time: 16 MB


def semi_supervised_kmeans(
    features: Any, labels: Any, k: int, seed: int, n_init: int = 10, max_iter: int = 200, tol: float = 1e-4
) -> Clustering:
    """Minimise Σ_i ‖x_i − c_{a_i}‖² over centers c [K, D] and assignments a, with a_i = y_i where y_i is given.

    ``features`` [N, D]; ``labels`` [N] are classes 0..n_known−1, which are the first clusters, and -1 for unlabelled.
    Known centers start at the means of their labelled points, the others by k-means++ on the unlabelled points with
    the known centers already chosen; all are then means of labelled and unlabelled points. Of ``n_init`` starts the
    lowest inertia wins. A run ends when the centers' squared move falls to ``tol`` times the mean variance. An empty
    cluster is put at the unlabelled point farthest from its center.

    While starting, squared distances count n/(n + 1), n the points a center stands for: that is what joining it adds
    to the inertia. Taken plainly, a mean of many labelled points would win against a new center, which is one noisy
    point, also where it is wrong.

    >>> x = [[0.0], [0.2], [5.0], [9.0], [9.2]]
    >>> semi_supervised_kmeans(x, [0, -1, -1, 1, -1], k=3, seed=0).labels.tolist()
    [0, 0, 2, 1, 1]
    """
    points = as_points(features)
    classes = _classes(labels, len(points))
    n_known = int(classes.max()) + 1
    _check_counts(points, classes, k, n_known)

    order = np.argsort(classes < 0, kind="stable")  # labelled first: both parts are then views of one array
    origin = points.mean(axis=0, dtype=np.float64).astype(np.float32)
    run = _Run(points[order] - origin, classes[order][: int((classes >= 0).sum())], k, n_known)
    random = np.random.default_rng(seed)
    n_starts = n_init if k > n_known else 1  # without new centers every start is the same
    best = min((run.fit(random, max_iter, tol) for _ in range(n_starts)), key=lambda found: found.inertia)

    assigned = np.empty(len(points), dtype=np.int64)
    assigned[order] = best.labels
    return Clustering(assigned, best.centers + origin, best.inertia)


def starts_for(n_points: int, k: int) -> int:
    """How many starts are worth their time: 50 for a few thousand points, 10 for many.

    >>> starts_for(1_500, 37), starts_for(50_000, 200)
    (50, 10)
    """
    return min(50, max(10, 5_000_000 // (n_points * k)))


class _Run:
    """Points with their mean at 0 (so that ‖x‖² − 2x·c + ‖c‖² does not cancel), the labelled ones first."""

    def __init__(self, points: Floats, held: Ints, k: int, n_known: int) -> None:
        self.points, self.held, self.k, self.n_known = points, held, k, n_known
        self.free = points[len(held) :]  # [U, D] the unlabelled
        self.free_norms = np.einsum("nd,nd->n", self.free, self.free)  # [U]
        stands_for = np.concatenate([np.bincount(held, minlength=n_known), np.ones(k - n_known)])
        self.joining = (stands_for / (stands_for + 1)).astype(np.float32)  # [K]
        self.variance = float(points.var(axis=0, dtype=np.float64).mean())

    def fit(self, random: np.random.Generator, max_iter: int, tol: float) -> Clustering:
        centers = self._start(random)
        for _ in range(max_iter):
            moved = self._means(*self._assign(centers))
            move = float(((moved - centers).astype(np.float64) ** 2).sum())
            centers = moved
            if move <= tol * self.variance:
                break
        assigned, _ = self._assign(centers)
        return Clustering(assigned, centers, self._inertia(centers, assigned))

    def _start(self, random: np.random.Generator) -> Floats:
        """Centers after a first assignment to the seeds, at the cost of joining them."""
        return self._means(*self._assign(self.seeds(random), self.joining))

    def seeds(self, random: np.random.Generator) -> Floats:
        """Labelled means, then k-means++: each new center is drawn ∝ cost, the best of several draws stays."""
        centers = np.zeros((self.k, self.points.shape[1]), dtype=np.float32)
        labelled = self.points[: len(self.held)]
        for c in range(self.n_known):
            centers[c] = labelled[self.held == c].mean(axis=0, dtype=np.float64)
        cost = np.ones(len(self.free), dtype=np.float32)  # [U] of joining the best center; alike until there is one
        if self.n_known:
            _, cost = self._assign(centers[: self.n_known], self.joining[: self.n_known])
        tries = 2 + int(math.log(self.k))
        for c in range(self.n_known, self.k):
            total = cost.sum(dtype=np.float64)
            drawn = random.choice(len(self.free), size=tries, p=cost / total if total > 0 else None)
            after = self._distances(slice(None), self.free[drawn]) * self.joining[c]  # [U, tries]
            if c > 0:
                after = np.minimum(after, cost[:, None])
            best = int(after.sum(axis=0, dtype=np.float64).argmin())
            centers[c], cost = self.free[drawn[best]], after[:, best]
        return centers

    def _distances(self, part: slice, centers: Floats) -> Floats:
        """Squared distances [rows, K] of some unlabelled points to centers [K, D]."""
        norms = np.einsum("kd,kd->k", centers, centers)
        distances: Floats = self.free[part] @ centers.T
        distances *= -2
        distances += norms
        distances += self.free_norms[part, None]
        return np.maximum(distances, 0, out=distances)

    def _assign(self, centers: Floats, weights: Floats | None = None) -> tuple[Ints, Floats]:
        """Cluster of every point [N], and the unlabelled points' (weighted) squared distances [U] to theirs."""
        chosen = np.empty(len(self.free), dtype=np.int64)
        nearest = np.empty(len(self.free), dtype=np.float32)
        rows = max(1, _CHUNK_CELLS // len(centers))
        for begin in range(0, len(self.free), rows):
            part = slice(begin, begin + rows)
            distances = self._distances(part, centers)  # [rows, K]
            if weights is not None:
                distances *= weights
            chosen[part] = distances.argmin(axis=1)
            nearest[part] = distances.min(axis=1)
        return np.concatenate([self.held, chosen]), nearest

    def _means(self, assigned: Ints, distances: Floats) -> Floats:
        """Mean of each cluster's points [K, D]; empty clusters go to the unlabelled points farthest from theirs."""
        order = np.argsort(assigned, kind="stable")
        ends = np.cumsum(np.bincount(assigned, minlength=self.k))
        centers = np.empty((self.k, self.points.shape[1]), dtype=np.float32)
        empty = []
        for c, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            if begin == end:
                empty.append(c)
            else:
                centers[c] = self.points[order[begin:end]].mean(axis=0, dtype=np.float64)
        if empty:
            centers[empty] = self.free[np.argsort(-distances, kind="stable")[: len(empty)]]
        return centers

    def _inertia(self, centers: Floats, assigned: Ints) -> float:
        rows = max(1, _CHUNK_CELLS // self.points.shape[1])
        total = 0.0
        for begin in range(0, len(self.points), rows):
            part = slice(begin, begin + rows)
            away = self.points[part] - centers[assigned[part]]  # [rows, D]
            total += float(np.einsum("nd,nd->n", away, away).sum(dtype=np.float64))
        return total


def _classes(labels: Any, n_points: int) -> Ints:
    if hasattr(labels, "detach"):
        labels = labels.detach().cpu().numpy()
    classes = np.asarray(labels)
    if classes.shape != (n_points,) or classes.dtype.kind not in "iu":
        raise UserError(f"labels are {classes.dtype} {list(classes.shape)}; expected {n_points} whole numbers")
    classes = classes.astype(np.int64)
    present = np.unique(classes[classes >= 0])
    if classes.min() < -1 or not np.array_equal(present, np.arange(len(present))):
        raise UserError("labels must be classes 0, 1, 2, ... without a gap, and -1 for unlabelled points")
    return classes


def _check_counts(points: Floats, classes: Ints, k: int, n_known: int) -> None:
    if k < max(n_known, 1):
        raise UserError(f"{k} clusters were asked for, but {n_known} classes are labelled; ask for at least as many")
    check_enough(points, k, "clusters")
    check_enough(points[classes < 0], k - n_known, "new clusters")
