"""Sort an image collection of which some categories are known: LegoGCD and its relatives.

The names a user needs are here; each room (`legogcd.bricks`, `legogcd.vision`, ...) documents its own.
"""

from typing import TYPE_CHECKING, Any

from legogcd.allocator import keep_large_blocks
from legogcd.version import __version__

if TYPE_CHECKING:
    from legogcd.estimator import LegoGCD

__all__ = ["LegoGCD", "__version__"]

keep_large_blocks()


def __getattr__(name: str) -> Any:
    if name == "LegoGCD":  # imported on first use: `legogcd --help` need not wait for torch
        from legogcd.estimator import LegoGCD

        return LegoGCD
    raise AttributeError(f"module 'legogcd' has no attribute {name!r}")
