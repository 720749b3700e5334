"""Forgetting: what was once known of the Old classes and is known no more."""

import math
from collections.abc import Iterable


def forgetting(old_by_epoch: Iterable[float]) -> float:
    """Old accuracy of the best epoch minus the last; epochs without one (NaN) do not count, NaN if fewer than two have.

    >>> round(forgetting([0.5, 0.75, 0.7]), 3)
    0.05
    """
    scored = [value for value in old_by_epoch if not math.isnan(value)]
    return max(scored) - scored[-1] if len(scored) > 1 else math.nan
