"""What may be clustered: finite float32 rows, enough different ones for the clusters asked for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.errors import UserError


def as_points(features: Any) -> NDArray[np.float32]:
    """Features [N, D] as float32, checked."""
    if hasattr(features, "detach"):
        features = features.detach().float().cpu().numpy()
    points = np.asarray(features, dtype=np.float32)
    if points.ndim != 2 or points.shape[0] == 0:
        raise UserError(f"features have shape {list(points.shape)}; expected [N, D] with at least one row")
    if not np.isfinite(points).all():
        raise UserError("features hold NaN or infinite values, which cannot be clustered")
    return points


def check_enough(points: NDArray[np.float32], wanted: int, what: str) -> None:
    """Raise unless there are ``wanted`` different points; stops counting when there are."""
    seen: set[bytes] = set()
    for row in points:
        if len(seen) >= wanted:
            return
        seen.add((row + 0.0).tobytes())  # adding zero makes -0.0 and 0.0 the same bytes
    if len(seen) < wanted:
        raise UserError(f"{wanted} {what} were asked for, but there are only {len(seen)} different points")
