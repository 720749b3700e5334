"""What may be clustered: finite float32 rows, enough different ones for the clusters asked for."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.errors import UserError

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class TooFewPointsError(UserError):
    """More clusters were asked for than there are different points."""


CHUNK_CELLS = 1 << 18  # cells of a table made a chunk of rows at a time: 1 MB, which stays in a core's cache


def as_points(features: Any) -> Floats:
    """Features [N, D] as float32, checked; not copied where they are float32 already."""
    if hasattr(features, "detach"):
        features = features.detach().float().cpu().numpy()
    points = np.asarray(features, dtype=np.float32)
    if points.ndim != 2 or points.shape[0] == 0:
        raise UserError(f"features have shape {list(points.shape)}; expected [N, D] with at least one row")
    if not all(np.isfinite(points[part]).all() for part in chunks(*points.shape)):
        raise UserError("features hold NaN or infinite values, which cannot be clustered")
    return points


def check_enough(points: Floats, wanted: int, what: str, rows: Ints | None = None) -> None:
    """Raise unless there are ``wanted`` different points (among ``rows``); stops counting when there are."""
    seen: set[bytes] = set()
    for row in range(len(points)) if rows is None else rows:
        if len(seen) >= wanted:
            return
        seen.add((points[row] + 0.0).tobytes())  # adding zero makes -0.0 and 0.0 the same bytes
    if len(seen) < wanted:
        raise TooFewPointsError(f"{wanted} {what} were asked for, but there are only {len(seen)} different points")


def chunks(n_rows: int, width: int) -> Iterator[slice]:
    """Consecutive slices of ``n_rows`` rows, each of about ``CHUNK_CELLS`` cells when rows are ``width`` wide."""
    step = max(1, CHUNK_CELLS // max(1, width))
    for begin in range(0, n_rows, step):
        yield slice(begin, min(begin + step, n_rows))


def squared_norms(points: Floats) -> Floats:
    """‖x‖² of each row [N]."""
    norms: Floats = np.einsum("nd,nd->n", points, points)
    return norms
