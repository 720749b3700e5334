"""Images of a group in a row: neighbors look alike, so that those that do not belong stand together.

A short way through all points is wanted. Up to ``_AT_ONCE`` points it is searched for directly: nearest neighbor
first, then turning stretches round as long as that shortens the way (2-opt). More points are cut into cells, the cells
are put in a row by their centers, and each cell is walked through from the one before to the next: the work grows
with N^1.5.
"""

import numpy as np
from numpy.typing import NDArray

from legogcd.review.cells import cells_of

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_AT_ONCE = 1200
_ROUNDS = 4  # of 2-opt; nearly all of the gain comes with the first


def order_by_likeness(points: Floats) -> Ints:
    """A permutation [n] of points [n, D] under which neighbors are near each other; always the same.

    >>> order_by_likeness(np.array([[0.0], [2.0], [1.0], [3.0]], np.float32)).tolist()
    [0, 2, 1, 3]
    """
    points = np.ascontiguousarray(points, np.float32)
    if len(points) <= _AT_ONCE:
        return _way(points, None, None)
    cell = cells_of(points, max(2, round(len(points) ** 0.5)))
    members = [np.flatnonzero(cell == number) for number in range(int(cell.max()) + 1)]
    members = [rows for rows in members if len(rows)]
    centers = np.stack([points[rows].mean(0) for rows in members])
    row = order_by_likeness(centers)
    ways: list[Ints] = []
    for place, number in enumerate(row.tolist()):
        rows = members[number]
        before = points[ways[-1][-1]] if ways else None
        after = centers[row[place + 1]] if place + 1 < len(row) else None
        ways.append(rows[_way_in_parts(points[rows], before, after)])
    return np.concatenate(ways)


def keep_order(before: Ints, members: Ints, points: Floats) -> Ints:
    """Members in the order they had, those that came later each beside the one it is most like."""
    stayed = before[np.isin(before, members)]
    came = np.setdiff1d(members, before)
    if not len(came):
        return stayed
    if not len(stayed):
        return members[order_by_likeness(points[members])]
    beside = np.empty(len(came), np.int64)
    for start in range(0, len(came), 512):
        part = came[start : start + 512]
        beside[start : start + 512] = _squared(points[part], points[stayed]).argmin(1)
    return np.insert(stayed, beside + 1, came)


def mean_step(points: Floats, order: Ints) -> float:
    """The mean distance of neighbors in an order: how well it keeps what looks alike together."""
    steps = points[order[1:]] - points[order[:-1]]
    return float(np.sqrt((steps.astype(np.float64) ** 2).sum(1)).mean()) if len(steps) else 0.0


def _way_in_parts(points: Floats, before: Floats | None, after: Floats | None) -> Ints:
    """A way through one cell; a cell of countless equal points is not searched."""
    if len(points) <= _AT_ONCE:
        return _way(points, before, after)
    direction = points.mean(0) if before is None or after is None else after - before
    return np.argsort(points @ direction, kind="stable")


def _way(points: Floats, before: Floats | None, after: Floats | None) -> Ints:
    """A short way through all points [n, D], from near ``before`` to near ``after`` where they are given."""
    if len(points) < 3:
        flip = len(points) == 2 and before is not None and _nearer_end(points, before) == 1
        return np.array([1, 0] if flip else range(len(points)), np.int64)
    distance = np.sqrt(np.maximum(_squared(points, points), 0))
    if before is not None:
        start = int(((points - before) ** 2).sum(1).argmin())
    else:
        start = int(distance.sum(1).argmax()) if len(points) > 2 else 0  # an end is far from the rest
    way = _nearest_first(distance, start)
    return _two_opt(distance, way, points, after)


def _nearest_first(distance: Floats, start: int) -> Ints:
    left = distance.copy()
    way = np.empty(len(distance), np.int64)
    way[0] = start
    left[:, start] = np.inf
    for place in range(1, len(way)):
        way[place] = left[way[place - 1]].argmin()
        left[:, way[place]] = np.inf
    return way


def _two_opt(distance: Floats, way: Ints, points: Floats, after: Floats | None) -> Ints:
    """Turn stretches of the way round while that shortens it; its first point stays, its last may be any."""
    n = len(way)
    to_end = np.zeros(n, np.float32) if after is None else np.sqrt(((points - after) ** 2).sum(1)).astype(np.float32)
    for _ in range(_ROUNDS):
        improved = False
        for first in range(n - 2):
            here, following = way[first], way[first + 1]
            rest = way[first + 1 :]
            step = distance[rest[:-1], rest[1:]]
            gain = np.empty(len(rest), np.float32)
            gain[:-1] = distance[here, following] + step - distance[here, rest[:-1]] - distance[following, rest[1:]]
            gain[-1] = distance[here, following] + to_end[rest[-1]] - distance[here, rest[-1]] - to_end[following]
            best = int(gain.argmax())
            if gain[best] > 1e-5:
                way[first + 1 : first + 2 + best] = way[first + 1 : first + 2 + best][::-1]
                improved = True
        if not improved:
            break
    return way


def _nearer_end(points: Floats, to: Floats) -> int:
    return int(((points - to) ** 2).sum(1).argmin())


def _squared(one: Floats, other: Floats) -> Floats:
    """Squared distances [n, m]."""
    found: Floats = (one**2).sum(1)[:, None] + (other**2).sum(1) - 2 * one @ other.T
    return found
