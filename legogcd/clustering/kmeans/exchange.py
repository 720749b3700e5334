"""Points given to another cluster one at a time, wherever that lowers the inertia (Hartigan, 1975)."""

import numpy as np
from numpy.typing import NDArray

from legogcd.clustering.group_sums import group_sums
from legogcd.clustering.kmeans.points import Floats, Ints, squared_norms

_BLOCK = 256  # points compared with all centers in one product
_PASSES = 100  # over all points; a few dozen are enough
_LEAST_GAIN = 1e-6  # relative; less is rounding
_AT_REST = 256  # clusters that must be as they were for it to pay not to look at them


class Exchange:
    """Clusters [N] of ``points`` [N, D], of which the first ``n_held`` stay where they are.

    A point takes part in the mean of its own cluster, so its own center is nearer than it would be without it: the more
    so the fewer points a cluster has and the more dimensions there are. Who moves points to their nearest center
    (Lloyd) therefore stops early. What counts is the inertia: taking a point out of a cluster of n saves n/(n−1)·d²,
    and bringing it into one of n costs n/(n+1)·d², d being its distance to the center there. Every move lowers the
    inertia; the end is a partition that no move of one point betters, of which there are fewer than of Lloyd's ends.

    At least ``fewest`` of the points that may move stay in the first ``n_known`` clusters.

    Where clusters are many, a pass looks only at those that changed since the last one: what was no gain for a point
    then is none now, unless its own cluster changed.
    """

    def __init__(self, points: Floats, clusters: Ints, k: int, n_held: int, n_known: int = 0, fewest: int = 0) -> None:
        self.points, self.clusters, self.n_held = points, clusters.copy(), n_held
        self.n_known, self.fewest = n_known, fewest
        self.sizes = np.bincount(clusters, minlength=k).astype(np.float64)  # [K]
        self.sums = group_sums(points, clusters, k)
        self.centers = np.zeros((k, points.shape[1]), np.float32)
        self.norms = np.zeros(k, np.float32)
        self._renew(np.arange(k))
        self.in_known = int((self.clusters[n_held:] < n_known).sum())
        self.changed, self.changed_before = np.ones(k, bool), np.ones(k, bool)  # in this pass and in the last
        self.wished = np.zeros(len(points), bool)  # to move, when last looked at

    def run(self) -> Ints:
        """Exchange points until no single one betters anything; returns the clusters [N]."""
        random = np.random.default_rng(0)
        free = np.arange(self.n_held, len(self.points))
        for _ in range(_PASSES):
            self.changed, self.changed_before = np.zeros_like(self.changed), self.changed
            order = random.permutation(free)
            blocks = (order[begin : begin + _BLOCK] for begin in range(0, len(order), _BLOCK))
            if not sum(self._exchange(rows) for rows in blocks):
                break
        return self.clusters

    def _exchange(self, rows: Ints) -> int:
        """Move those of some points that gain by it; how many did."""
        self.wished[rows] = self._wish(rows)
        wishing = rows[self.wished[rows]]
        return sum(self._move(int(row)) for row in wishing)  # each looks again: others of the block have moved since

    def _wish(self, rows: Ints) -> NDArray[np.bool_]:
        """Which of some points would gain by a move."""
        recent = self.changed | self.changed_before
        if len(recent) - recent.sum() < _AT_REST:
            return self._would_move(rows)
        anew = recent[self.clusters[rows]] | self.wished[rows]
        wish = np.zeros(len(rows), bool)
        wish[anew] = self._would_move(rows[anew])
        wish[~anew] = self._offered(rows[~anew], np.flatnonzero(recent)) < self._saved(rows[~anew])
        return wish

    def _would_move(self, rows: Ints) -> NDArray[np.bool_]:
        return np.asarray(self._costs(rows).argmin(axis=1) != self.clusters[rows])

    def _offered(self, rows: Ints, among: Ints) -> Floats:
        """The least that each point would add to the inertia in one of some clusters."""
        points, sizes = self.points[rows], self.sizes[among]
        apart = squared_norms(points)[:, None] + self.norms[among] - 2 * points @ self.centers[among].T
        costs: Floats = np.maximum(apart, 0) * (sizes / (sizes + 1)).astype(np.float32)
        least: Floats = costs.min(axis=1, initial=np.inf)
        return least

    def _saved(self, rows: Ints) -> Floats:
        """What each point adds to the inertia where it is, but for a gain that would be rounding."""
        sizes = self.sizes[self.clusters[rows]]
        apart = squared_norms(self.points[rows] - self.centers[self.clusters[rows]])
        return np.where(sizes < 2, 0, apart * sizes / np.maximum(sizes - 1, 1) * (1 - _LEAST_GAIN)).astype(np.float32)

    def _costs(self, rows: Ints) -> Floats:
        """What each point adds to the inertia in every cluster [n, K]."""
        points = self.points[rows]
        apart = squared_norms(points)[:, None] + self.norms - 2 * points @ self.centers.T
        costs: Floats = np.maximum(apart, 0) * (self.sizes / (self.sizes + 1)).astype(np.float32)
        own, each = self.clusters[rows], np.arange(len(rows))
        alone = self.sizes[own] < 2
        leaving = self.sizes[own] / np.maximum(self.sizes[own] - 1, 1)
        costs[each, own] = np.where(alone, 0, np.maximum(apart[each, own], 0) * leaving * (1 - _LEAST_GAIN))
        return costs

    def _move(self, row: int) -> bool:
        costs, own = self._costs(np.array([row]))[0], int(self.clusters[row])
        if own < self.n_known and self.in_known <= self.fewest:
            costs[self.n_known :] = np.inf
        other = int(costs.argmin())
        if other == own:
            return False
        self.clusters[row] = other
        self.in_known += (other < self.n_known) - (own < self.n_known)
        for cluster, sign in ((own, -1), (other, 1)):
            self.sizes[cluster] += sign
            self.sums[cluster] += sign * self.points[row]
        self._renew(np.array([own, other]))
        self.changed[[own, other]] = True
        return True

    def _renew(self, changed: Ints) -> None:
        self.centers[changed] = self.sums[changed] / np.maximum(self.sizes[changed], 1)[:, None]
        self.norms[changed] = squared_norms(self.centers[changed])


def exchanged(
    features: Floats, labels: Ints, clusters: Ints, k: int, n_known: int = 0, known_share: float = 0.0
) -> Ints:
    """Better clusters [N] than those given, by `Exchange`; labelled points (``labels`` [N] ≥ 0) are in their class.

    At least ``known_share`` of the unlabelled points, or as many as there were, stay in the first ``n_known`` clusters.

    >>> points = np.array([[0.0], [0.2], [5.0], [9.0], [9.2]], np.float32)
    >>> exchanged(points, np.array([0, -1, -1, 1, -1]), np.array([0, 2, 2, 1, 1]), k=3).tolist()
    [0, 0, 2, 1, 1]
    """
    order = np.argsort(labels < 0, kind="stable")
    n_held = int((labels >= 0).sum())
    begun = np.where(labels >= 0, labels, clusters)[order]
    centered = features[order] - features.mean(axis=0, dtype=np.float64).astype(np.float32)
    fewest = round(known_share * (len(labels) - n_held))
    found = np.empty_like(begun)
    found[order] = Exchange(centered, begun, k, n_held, n_known, fewest).run()
    return found
