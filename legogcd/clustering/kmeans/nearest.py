"""The nearest center of every point by matrix products, kept up to date while centers move."""

import numpy as np
import torch

from legogcd.clustering.kmeans.points import Floats, Ints, chunks, squared_norms


class Nearest:
    """For each of ``points`` [U, D], with squared ``norms`` [U], the nearest of ``centers`` [K, D].

    An offer is ‖c‖² − 2x·c, the squared distance without ‖x‖², which is the same for every center: one matrix product
    a chunk of points. Offers of centers that stay where they are stay too, so after a move only the moved centers are
    looked at. ``others`` bounds from below what any center but the chosen one offers; only where the chosen center
    moved, and the best of the moved ones offers no less than that bound, is the point compared with all centers again.
    """

    def __init__(self, points: Floats, norms: Floats, centers: Floats) -> None:
        self.points, self.norms = points, norms
        self.chosen = np.empty(len(points), dtype=np.int64)
        self.offer = np.empty(len(points), dtype=np.float32)
        self.others = np.empty(len(points), dtype=np.float32)
        self.look_at_all(centers)

    @property
    def distances(self) -> Floats:
        """Squared distances [U] to the chosen centers."""
        distances: Floats = np.maximum(self.offer + self.norms, 0)
        return distances

    def look_at_all(self, centers: Floats) -> None:
        offered = Offers(centers)
        for part in chunks(len(self.points), len(centers)):
            self.chosen[part], self.offer[part], self.others[part] = offered.two_best(self.points[part])

    def follow(self, centers: Floats, moved: Ints) -> None:
        """Search again after the centers ``moved`` [M] moved; the others are as they were."""
        if len(moved) == len(centers):
            self.look_at_all(centers)
        elif len(moved):
            self._look_at_moved(centers, moved)

    def _look_at_moved(self, centers: Floats, moved: Ints) -> None:
        has_moved = np.zeros(len(centers), dtype=bool)
        has_moved[moved] = True
        offered, doubtful = Offers(centers[moved]), []
        for part in chunks(len(self.points), len(moved)):
            column, best, second = offered.two_best(self.points[part])
            astray = has_moved[self.chosen[part]]
            resting = np.where(astray, self.others[part], self.offer[part])  # no center at rest offers less
            wins = best < resting
            self.others[part] = np.minimum(np.where(wins, resting, self.others[part]), np.where(wins, second, best))
            self.chosen[part] = np.where(wins, moved[column], self.chosen[part])
            self.offer[part] = np.where(wins, best, self.offer[part])
            doubtful.append(part.start + np.flatnonzero(astray & ~wins))
        self._look_again(np.concatenate(doubtful), centers)

    def _look_again(self, rows: Ints, centers: Floats) -> None:
        offered = Offers(centers)
        for part in chunks(len(rows), max(centers.shape)):
            some = rows[part]
            self.chosen[some], self.offer[some], self.others[some] = offered.two_best(self.points[some])


class NearestWithFloor:
    """As `Nearest`, but at least ``fewest`` points choose among the first ``n_known`` centers: those it costs least."""

    def __init__(self, points: Floats, norms: Floats, centers: Floats, n_known: int, fewest: int) -> None:
        self.n_known, self.fewest = n_known, fewest
        self.known = Nearest(points, norms, centers[:n_known])
        self.new = Nearest(points, norms, centers[n_known:])
        self._choose()

    def follow(self, centers: Floats, moved: Ints) -> None:
        """Search again after the centers ``moved`` [M] moved; the others are as they were."""
        self.known.follow(centers[: self.n_known], moved[moved < self.n_known])
        self.new.follow(centers[self.n_known :], moved[moved >= self.n_known] - self.n_known)
        self._choose()

    def _choose(self) -> None:
        extra = self.known.offer - self.new.offer  # what a known center costs more
        known = extra <= 0
        if known.sum() < self.fewest:
            known[np.argsort(extra, kind="stable")[: self.fewest]] = True
        self.chosen = np.where(known, self.known.chosen, self.n_known + self.new.chosen)
        self.distances = np.where(known, self.known.distances, self.new.distances)


class Offers:
    """‖c‖² − 2x·c for centers c [K, D] and any points x."""

    def __init__(self, centers: Floats) -> None:
        self.columns = torch.from_numpy(centers).T  # [D, K]
        self.norms = torch.from_numpy(squared_norms(centers))

    def __call__(self, points: Floats) -> Floats:
        """Table [n, K]."""
        table: Floats = torch.addmm(self.norms, torch.from_numpy(points), self.columns, alpha=-2).numpy()
        return table

    def two_best(self, points: Floats) -> tuple[Ints, Floats, Floats]:
        """The best center, its offer and the second-best offer, each [n]."""
        table, rows = self(points), np.arange(len(points))
        column = table.argmin(axis=1)
        best = table[rows, column]
        table[rows, column] = np.inf
        second: Floats = torch.from_numpy(table).amin(dim=1).numpy()
        return column, best, second
