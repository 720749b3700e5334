"""Where k-means starts: known centers at their labelled means, new ones by k-means++, for several starts at once."""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from legogcd.clustering.kmeans.nearest import Offers
from legogcd.clustering.kmeans.points import Floats, Ints, chunks

Draws = Literal["greedy", "plain"]

_SHARE = 8  # the costs under trial take at most this part of the points' memory


class Start(NamedTuple):
    """The points drawn as new centers [K_new], the center cheapest to join for each point [U], and its cost [U]."""

    drawn: Ints
    clusters: Ints
    cost: Floats


class Seeding:
    """k-means++ among ``points`` [U, D], with squared ``norms`` [U], after the known ``centers`` [n_known, D].

    Joining a center that stands for n points costs n/(n + 1) of the squared distance; ``stands_for`` [n_known] says n
    of the known ones, a new one is a single point. Each new center is the best of several draws ∝ the cost so far.
    What a draw costs is the pass over the points, so several starts share it. The ``settled`` points that are cheapest
    for the known centers stay with them, and no new center is drawn there. With ``plain`` draws there is one for each
    new center, and every distance counts as it is.
    """

    def __init__(
        self,
        points: Floats,
        norms: Floats,
        centers: Floats,
        stands_for: Ints,
        k: int,
        settled: int = 0,
        draws: Draws = "greedy",
    ) -> None:
        self.points, self.norms, self.plain = points, norms, draws == "plain"
        self.n_known, self.n_new = len(centers), k - len(centers)
        self.tries = 1 if self.plain else 2 + int(math.log(k))
        clusters, cost = self._join(centers, stands_for)
        cost[np.argsort(cost, kind="stable")[:settled]] = 0
        self.first = clusters, cost

    def starts(self, random: np.random.Generator, n_starts: int) -> Iterator[Start]:
        uniform = random.random((n_starts, self.n_new, self.tries))
        together = max(1, self.points.shape[1] // (_SHARE * self.tries))
        for begin in range(0, n_starts, together):
            yield from self._draw(uniform[begin : begin + together])

    def _join(self, centers: Floats, stands_for: Ints) -> tuple[Ints, Floats]:
        """The known center cheapest to join and its cost, each [U]; without known centers nothing is paid yet."""
        clusters, cost = np.zeros(len(self.points), dtype=np.int64), np.full(len(self.points), np.inf, np.float32)
        if len(centers):
            offered, weights = Offers(centers), self._weights(stands_for)
            for part in chunks(len(self.points), len(centers)):
                costs = np.maximum(offered(self.points[part]) + self.norms[part, None], 0) * weights  # [rows, n_known]
                clusters[part], cost[part] = costs.argmin(axis=1), costs.min(axis=1)
        return clusters, cost

    def _weights(self, stands_for: Ints) -> Floats:
        weights = np.ones(len(stands_for)) if self.plain else stands_for / (stands_for + 1)
        return weights.astype(np.float32)

    def _draw(self, uniform: NDArray[np.float64]) -> Iterator[Start]:
        """As many starts as ``uniform`` [S, K_new, tries] has rows."""
        clusters = np.repeat(self.first[0][None], len(uniform), axis=0)  # [S, U]
        cost = np.repeat(self.first[1][None], len(uniform), axis=0)  # [S, U]
        drawn = np.empty(uniform.shape[:2], dtype=np.int64)  # [S, K_new]
        for new in range(self.n_new):
            tried = np.stack([_drawn(*pair) for pair in zip(cost, uniform[:, new], strict=True)])  # [S, tries]
            drawn[:, new], after = self._best(tried, cost)
            clusters[after < cost] = self.n_known + new
            cost = after
        for row in zip(drawn, clusters, cost, strict=True):
            yield Start(*row)

    def _best(self, tried: Ints, cost: Floats) -> tuple[Ints, Floats]:
        """Which of the points ``tried`` [S, tries] is the best next center [S], and the ``cost`` [S, U] it leaves."""
        new, new_norms = torch.from_numpy(self.points[tried]), torch.from_numpy(self.norms[tried])
        points, norms, before = (torch.from_numpy(array) for array in (self.points, self.norms, cost))
        after = torch.empty(*tried.shape, len(points))  # [S, tries, U]
        totals = torch.zeros(tried.shape, dtype=torch.float64)
        for part in chunks(len(points), tried.size):
            costs = torch.add(new_norms[..., None], norms[part])  # [S, tries, rows]
            # half the squared distance: a new center stands for one point
            beta, alpha = (1.0, -2.0) if self.plain else (0.5, -1.0)
            costs.view(tried.size, -1).addmm_(new.flatten(0, 1), points[part].T, beta=beta, alpha=alpha)
            costs = torch.minimum(costs.clamp_(min=0), before[:, None, part], out=costs)
            totals += costs.sum(dim=2, dtype=torch.float64)
            after[:, :, part] = costs
        best, start = totals.argmin(dim=1).numpy(), np.arange(len(tried))
        return tried[start, best], after.numpy()[start, best]


def _drawn(cost: Floats, uniform: NDArray[np.float64]) -> Ints:
    """Points drawn ∝ ``cost`` [U] by uniform numbers; all alike where no cost is known or none is left."""
    upto = cost.cumsum(dtype=np.float64)
    if not 0 < upto[-1] < np.inf:
        upto = np.arange(1.0, len(cost) + 1)
    drawn: Ints = upto.searchsorted(uniform * upto[-1], side="right")
    return np.minimum(drawn, len(cost) - 1)
