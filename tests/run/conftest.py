"""What the tests of this room watch."""

import numpy as np
import pytest

from legogcd.methods.legogcd_plus import LegoGCDPlus


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many images each settling looked at."""
    seen: list[int] = []
    finish = LegoGCDPlus.finish

    def watched(self: LegoGCDPlus, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        seen.append(len(features))
        finish(self, features, labels, seed)

    monkeypatch.setattr(LegoGCDPlus, "finish", watched)
    return seen
