"""How many samples a run selected, in the unit the paper counts them in."""

from collections.abc import Mapping
from typing import Any


def selected_per_batch(entry: Mapping[str, Any]) -> float | None:
    """The confident known views of one batch, on average over an epoch of metrics.jsonl; None where none was counted.

    The paper's figure and its log count one batch; ``selected`` of an epoch is the sum over all of them.

    >>> selected_per_batch({"epoch": 1, "selected_by_step": [3, 4, 8]})
    5.0
    """
    by_step = entry.get("selected_by_step") or []
    return sum(by_step) / len(by_step) if by_step else None
