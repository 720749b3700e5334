"""What a run is: its options, the pipeline that makes one, the folder it lives in, and what can be done with it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from legogcd.run.options import LabelOptions, RunOptions

if TYPE_CHECKING:
    from legogcd.run.job import Job, prepare
    from legogcd.run.pipeline import Outcome, discover

__all__ = ["Job", "LabelOptions", "Outcome", "RunOptions", "discover", "prepare"]
_PLACES = {"Job": "job", "prepare": "job", "Outcome": "pipeline", "discover": "pipeline"}


def __getattr__(name: str) -> Any:
    if name in _PLACES:  # imported on first use: options and edits need not wait for torch
        return getattr(import_module(f"legogcd.run.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'legogcd.run' has no attribute {name!r}")
