"""What a run is at: a command that tells its phases through a pipe as it enters and leaves them."""

import importlib
import os
from collections.abc import Callable
from functools import wraps
from typing import Any

PHASES = ("open", "encode", "start", "train", "checkpoint", "calibrate", "save", "sort", "seal", "pictures", "report")
_WHERE = {
    "encode": ["legogcd.vision.views.store:encode_shard"],
    "start": ["legogcd.run.pipeline:_begin", "legogcd.run.pipeline:clustering_images"],
    "train": ["legogcd.run.pipeline:train"],
    "checkpoint": ["legogcd.training.journal:save_tensors"],
    "calibrate": ["legogcd.run.pipeline:_calibrate"],
    "save": ["legogcd.run.model:save_tensors"],
    "sort": ["legogcd.run.pipeline:_sort"],
    "seal": ["legogcd.run.pipeline:_finish"],
    "pictures": ["legogcd.cli.discover:_pictures", "legogcd.run.figure_sample:keep_sample"],
    "report": ["legogcd.report.page:report_outcome"],
}


def tell_phases(pipe: int) -> None:
    """In the command's process: write a phase's place in PHASES into ``pipe`` whenever it begins or is come back to."""
    at = [0]

    def telling(number: int, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def told(*arguments: Any, **named: Any) -> Any:
            before = at[0]
            at[0] = number
            os.write(pipe, bytes([number]))
            try:
                return function(*arguments, **named)
            finally:
                at[0] = before
                os.write(pipe, bytes([before]))

        return told

    os.write(pipe, bytes([0]))
    for phase, places in _WHERE.items():
        for place in places:
            module_name, name = place.split(":")
            module = importlib.import_module(module_name)
            setattr(module, name, telling(PHASES.index(phase), getattr(module, name)))
