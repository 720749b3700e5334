"""What a run is: its options, the pipeline that makes one, the folder it lives in, and what can be done with it."""

from typing import TYPE_CHECKING, Any

from legogcd.run.options import LabelOptions, RunOptions

if TYPE_CHECKING:
    from legogcd.run.pipeline import Job, Outcome, discover, prepare

__all__ = ["Job", "LabelOptions", "Outcome", "RunOptions", "discover", "prepare"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # imported on first use: options and edits need not wait for torch
        from legogcd.run import pipeline

        return getattr(pipeline, name)
    raise AttributeError(f"module 'legogcd.run' has no attribute {name!r}")
