"""Many points cut into cells of near ones, and nearest neighbors found with their help, in far less than N² steps."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_STEPS = 6  # of k-means: cells need not be the best
_SAMPLE = 64  # points per cell that the centers are found on
_BLOCK = 8192
_CELLS = 12  # that are searched for neighbors
_LARGEST = 4  # times the usual size of a cell; larger ones are cut again


def centers_of(points: Floats, count: int) -> Floats:
    """Centers [k, D] of at most ``count`` cells, by a few steps of k-means on a sample; always the same."""
    random = np.random.default_rng(0)
    count = min(count, len(points))
    chosen = np.sort(random.permutation(len(points))[: _SAMPLE * count])
    sample = np.ascontiguousarray(points[chosen])
    centers = sample[np.sort(random.permutation(len(sample))[:count])].copy()
    for _ in range(_STEPS):
        nearest = nearest_center(sample, centers)
        sums = np.zeros_like(centers)
        np.add.at(sums, nearest, sample)
        sizes = np.bincount(nearest, minlength=len(centers))
        centers[sizes > 0] = sums[sizes > 0] / sizes[sizes > 0, None]
    return centers


def nearest_center(points: Floats, centers: Floats) -> Ints:
    """Which center [k, D] is nearest to each of the points [n, D]."""
    half = (centers**2).sum(1) / 2
    found = np.empty(len(points), np.int64)
    for start in range(0, len(points), _BLOCK):
        found[start : start + _BLOCK] = (points[start : start + _BLOCK] @ centers.T - half).argmax(1)
    return found


def cells_of(points: Floats, count: int) -> Ints:
    """The cell of each of the points [n, D], about ``count`` of them; one much too large is cut evenly."""
    cell = nearest_center(points, centers_of(points, count))
    sizes = np.bincount(cell, minlength=count)
    limit = max(2, _LARGEST * len(points) // count)
    fresh = len(sizes)
    for number in np.flatnonzero(sizes > limit).tolist():
        rows = np.flatnonzero(cell == number)
        spread = points[rows] - points[rows].mean(0)
        along = spread @ spread[int((spread**2).sum(1).argmax())]  # toward its farthest point
        parts = np.array_split(rows[np.argsort(along, kind="stable")], -(-len(rows) // limit))
        for part in parts[1:]:
            cell[part] = fresh
            fresh += 1
    return cell


def nearest_neighbors(points: Floats, count: int) -> Ints:
    """The rows of the ``count`` nearest neighbors [n, count] of each point, nearest first; a point is not its own.

    Up to 4,096 points all pairs are looked at; of more, the cells nearest to a cell, which finds nearly all of them.
    """
    n = len(points)
    count = min(count, n - 1)
    if count < 1:
        return np.zeros((n, 0), np.int64)
    found = np.empty((n, count), np.int64)
    if n <= 4096:
        _search(points, np.arange(n), np.arange(n), count, found)
        return found
    n_cells = max(2, round(n**0.5))
    cell = cells_of(points, n_cells)
    members = [np.flatnonzero(cell == number) for number in range(int(cell.max()) + 1)]
    members = [rows for rows in members if len(rows)]
    centers = np.stack([points[rows].mean(0) for rows in members])
    apart = (centers**2).sum(1)[:, None] + (centers**2).sum(1) - 2 * centers @ centers.T
    np.fill_diagonal(apart, -np.inf)  # a cell is the nearest to itself, whatever others are equal to it
    for number, rows in enumerate(members):
        near: list[Ints] = []
        held = 0
        for place, other in enumerate(np.argsort(apart[number], kind="stable").tolist()):
            near.append(members[other])
            held += len(members[other])
            if place >= _CELLS - 1 and held > 4 * count:
                break
        _search(points, rows, np.sort(np.concatenate(near)), count, found)
    return found


def _search(points: Floats, rows: Ints, among: Ints, count: int, found: Ints) -> None:
    half = (points[among] ** 2).sum(1) / 2
    for start in range(0, len(rows), 1024):
        part = rows[start : start + 1024]
        score = points[part] @ points[among].T - half
        score[np.arange(len(part)), np.searchsorted(among, part)] = -np.inf
        best = np.argpartition(-score, count - 1, axis=1)[:, :count]
        ranked = np.argsort(-np.take_along_axis(score, best, 1), axis=1, kind="stable")
        found[part] = among[np.take_along_axis(best, ranked, 1)]
