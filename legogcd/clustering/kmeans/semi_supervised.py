"""Semi-supervised k-means: labelled points stay in their class, new clusters form among the unlabelled."""

from typing import Any, NamedTuple

import numpy as np

from legogcd.clustering.kmeans.exchange import Exchange
from legogcd.clustering.kmeans.means import cluster_means, exact_means
from legogcd.clustering.kmeans.nearest import Nearest, NearestWithFloor
from legogcd.clustering.kmeans.plain import Clustering
from legogcd.clustering.kmeans.points import Floats, Ints, as_points, check_enough, chunks, squared_norms
from legogcd.clustering.kmeans.seeding import Draws, Seeding, Start
from legogcd.errors import UserError


def semi_supervised_kmeans(
    features: Any,
    labels: Any,
    k: int,
    seed: int,
    n_init: int = 10,
    max_iter: int = 200,
    tol: float = 1e-4,
    known_share: float = 0.0,
    n_known: int | None = None,
    seeding: Draws = "greedy",
    exchange: bool = False,
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

    At least ``known_share`` of the unlabelled points are given to known classes, those it costs least. k-means likes
    clusters of equal size and would cut a large known class in two where new ones are rare; whoever knows that they are
    can say so.

    With ``n_known`` classes known of which some have no label, those are found like new ones and keep their places
    among the first clusters. Which of the clusters without a label takes which place is then chance.

    ``seeding="plain"`` is k-means++ as published for GCD: one draw ∝ the squared distance for each new center, and
    distances as they are.

    With ``exchange`` every start goes on, where its points are nearest to their centers, with `Exchange`: a point moves
    wherever that lowers the inertia. It matters where clusters are small and dimensions many (docs/accuracy.md).

    Distances are float32 matrix products over chunks of points; the means returned are summed in float64. A search
    after a move looks only at the centers that moved. Memory beside the features: 4·N·D bytes for their centered copy,
    while starting and averaging at most a quarter of that (or some 200 bytes a point, if more), and the libraries' own
    buffers, some 40 MB whatever N is; nothing of size N·K.

    >>> x = [[0.0], [0.2], [5.0], [9.0], [9.2]]
    >>> semi_supervised_kmeans(x, [0, -1, -1, 1, -1], k=3, seed=0).labels.tolist()
    [0, 0, 2, 1, 1]
    """
    points = as_points(features)
    classes, places = _labelled_first(as_classes(labels, len(points), n_known), k, n_known)
    n_labelled = int(classes.max()) + 1
    _check_counts(points, classes, k, n_labelled)
    if not 0 <= known_share <= 1:
        raise UserError(f"known_share is {known_share}; give a number from 0 to 1")

    order = np.argsort(classes < 0, kind="stable")  # labelled first: both parts are then views of one array
    origin = points.mean(axis=0, dtype=np.float64).astype(np.float32)
    centered = points[order]
    centered -= origin
    run = _Run(centered, classes[order][: int((classes >= 0).sum())], k, n_labelled, known_share, seeding)
    n_starts = n_init if k > n_labelled else 1  # without new centers every start is the same
    starts = run.seeding.starts(np.random.default_rng(seed), n_starts)
    ends = (run.fit(start, max_iter, tol) for start in starts)
    found = (run.exchanged(end) if exchange else run.clustering(*end) for end in ends)
    best = min(found, key=lambda one: one.inertia)

    assigned = np.empty(len(points), dtype=np.int64)
    assigned[order] = places[best.labels]
    return Clustering(assigned, (best.centers + origin)[np.argsort(places)], best.inertia)


def starts_for(n_points: int, k: int) -> int:
    """How many starts are worth their time: 50 for a few thousand points, 10 for many.

    >>> starts_for(1_500, 37), starts_for(50_000, 200)
    (50, 10)
    """
    return min(50, max(10, 5_000_000 // (n_points * k)))


class _End(NamedTuple):
    """Where moving centers ends: the points that they are the means of [N], the nearest one of each [N], and they."""

    clusters: Ints
    assigned: Ints
    centers: Floats


class _Run:
    """Points with their mean at 0 (so that ‖x‖² − 2x·c + ‖c‖² does not cancel), the labelled ones first."""

    def __init__(
        self,
        points: Floats,
        held: Ints,
        k: int,
        n_known: int,
        known_share: float = 0.0,
        draws: Draws = "greedy",
    ) -> None:
        self.points, self.held, self.k, self.n_known = points, held, k, n_known
        self.free = points[len(held) :]  # [U, D] the unlabelled
        # of the unlabelled in known classes; each new cluster keeps a point
        self.fewest = min(round(known_share * len(self.free)), len(self.free) - (k - n_known)) if n_known else 0
        norms = squared_norms(points)
        self.free_norms = norms[len(held) :]
        self.variance = float(norms.mean(dtype=np.float64)) / points.shape[1]
        known = exact_means(points, held, np.zeros((n_known, points.shape[1]), dtype=np.float32))
        stands_for = np.bincount(held, minlength=n_known)
        self.seeding = Seeding(self.free, self.free_norms, known, stands_for, k, self.fewest, draws)

    def fit(self, start: Start, max_iter: int, tol: float) -> _End:
        """Move centers to means, points to nearest centers, until the centers hardly move."""
        clusters = np.concatenate([self.held, start.clusters])
        centers = np.zeros((self.k, self.points.shape[1]), dtype=np.float32)
        centers = self._means(clusters, start.cost, centers, np.arange(self.k))
        nearest = self._nearest(centers)
        for _ in range(max_iter):
            before, clusters = clusters, np.concatenate([self.held, nearest.chosen])
            changed = self._changed(before, clusters)
            moved = self._means(clusters, nearest.distances, centers, changed)
            move = float(((moved[changed] - centers[changed]).astype(np.float64) ** 2).sum())
            centers = moved
            nearest.follow(centers, changed)
            if move <= tol * self.variance:
                break
        return _End(clusters, np.concatenate([self.held, nearest.chosen]), centers)

    def exchanged(self, end: _End) -> Clustering:
        """Go on from there with single points."""
        moving = Exchange(self.points, end.assigned, self.k, len(self.held), self.n_known, self.fewest)
        clusters = moving.run()
        return self.clustering(clusters, clusters, end.centers)

    def clustering(self, clusters: Ints, assigned: Ints, centers: Floats) -> Clustering:
        """Points in the clusters ``assigned`` [N], centers at the means of ``clusters`` [N], where they have points."""
        centers = exact_means(self.points, clusters, centers)
        return Clustering(assigned, centers, self._inertia(centers, assigned))

    def _nearest(self, centers: Floats) -> Nearest | NearestWithFloor:
        if self.fewest and self.n_known < self.k:
            return NearestWithFloor(self.free, self.free_norms, centers, self.n_known, self.fewest)
        return Nearest(self.free, self.free_norms, centers)

    def _changed(self, before: Ints, after: Ints) -> Ints:
        """Clusters whose points changed, and empty ones: the others' means are what they were."""
        differs = before != after
        empty = np.bincount(after, minlength=self.k) == 0
        return np.union1d(np.concatenate([before[differs], after[differs]]), np.flatnonzero(empty))

    def _means(self, clusters: Ints, distances: Floats, centers: Floats, changed: Ints) -> Floats:
        """Centers [K, D] with the ``changed`` ones at the means of their points.

        Empty clusters go to the unlabelled points farthest from their centers, by ``distances`` [U].
        """
        centers = centers.copy()
        empty = changed[np.bincount(clusters, minlength=self.k)[changed] == 0]
        filled = np.setdiff1d(changed, empty)
        if len(filled):
            centers[filled] = cluster_means(self.points, clusters, filled)
        if len(empty):
            centers[empty] = self.free[np.argsort(-distances, kind="stable")[: len(empty)]]
        return centers

    def _inertia(self, centers: Floats, assigned: Ints) -> float:
        total = 0.0
        for part in chunks(*self.points.shape):
            away = self.points[part] - centers[assigned[part]]  # [rows, D]
            total += float(squared_norms(away).sum(dtype=np.float64))
        return total


def as_classes(labels: Any, n_points: int, n_known: int | None = None) -> Ints:
    """Labels [N] as int64, checked: 0, 1, 2, ... and -1 for unlabelled points.

    Without a gap, unless ``n_known`` says how many classes there are.
    """
    if hasattr(labels, "detach"):
        labels = labels.detach().cpu().numpy()
    classes = np.asarray(labels)
    if classes.shape != (n_points,) or classes.dtype.kind not in "iu":
        raise UserError(f"labels are {classes.dtype} {list(classes.shape)}; expected {n_points} whole numbers")
    classes = classes.astype(np.int64)
    present = np.unique(classes[classes >= 0])
    if classes.min() < -1 or (n_known is None and not np.array_equal(present, np.arange(len(present)))):
        raise UserError("labels must be classes 0, 1, 2, ... without a gap, and -1 for unlabelled points")
    if n_known is not None and classes.max() >= n_known:
        raise UserError(f"a label is {classes.max()}, but {n_known} classes are known: 0 to {n_known - 1}")
    return classes


def _labelled_first(classes: Ints, k: int, n_known: int | None) -> tuple[Ints, Ints]:
    """The classes [N] renumbered so that none is without a label, and which place [K] each number has then."""
    present = np.unique(classes[classes >= 0])
    if n_known is not None and k < n_known:
        raise UserError(f"{k} clusters were asked for, but {n_known} classes are known; ask for at least as many")
    places = np.concatenate([present, np.setdiff1d(np.arange(k), present)])
    numbers = np.full(max(k, int(classes.max()) + 1) + 1, -1)  # the last place is for label -1
    numbers[present] = np.arange(len(present))
    return numbers[classes], places


def _check_counts(points: Floats, classes: Ints, k: int, n_known: int) -> None:
    if k < max(n_known, 1):
        raise UserError(f"{k} clusters were asked for, but {n_known} classes are labelled; ask for at least as many")
    check_enough(points, k, "clusters")
    check_enough(points, k - n_known, "new clusters", rows=np.flatnonzero(classes < 0))
