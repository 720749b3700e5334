"""Waiting for what happens by itself: on a busy machine nothing is there at once."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 90.0  # seconds; only a test that fails waits so long


def until(look: Callable[[], Any], wanted: Any = True) -> None:
    """Look again until what is there is what is wanted; a failure says what was there instead."""
    end = time.monotonic() + PATIENCE
    while (found := look()) != wanted and time.monotonic() < end:
        time.sleep(0.05)
    assert found == wanted
