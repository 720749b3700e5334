"""Sort an image collection of which some categories are known: LegoGCD and its relatives.

The names a user needs are here; each room (`legogcd.bricks`, `legogcd.vision`, ...) documents its own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from legogcd.allocator import keep_large_blocks
from legogcd.thread_wait import sleep_while_waiting
from legogcd.version import __version__

if TYPE_CHECKING:
    from legogcd import bricks, clustering, collection, evaluation, export, methods, run, vision
    from legogcd.estimator import LegoGCD

__all__ = [
    "LegoGCD",
    "__version__",
    "bricks",
    "clustering",
    "collection",
    "evaluation",
    "export",
    "methods",
    "run",
    "vision",
]

keep_large_blocks()
sleep_while_waiting()


def __getattr__(name: str) -> Any:
    """Imported on first use: `import legogcd` and `legogcd --help` need not wait for torch."""
    if name == "LegoGCD":
        return import_module("legogcd.estimator").LegoGCD
    if name in __all__:
        return import_module(f"legogcd.{name}")
    raise AttributeError(f"module 'legogcd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
