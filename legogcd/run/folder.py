"""The run folder: what its files are called, and whether a folder may become one."""

import os
from pathlib import Path

from legogcd.errors import UserError
from legogcd.training.files import CHECKPOINT, METRICS, MODEL, TIMING, read_metrics

CONFIG, PREDICTIONS, CALIBRATION = "config.json", "predictions.csv", "calibration.json"
EDITS, REPORT = "edits.jsonl", "report.html"
CURVES, GROUPS, CLASS_COUNT = "curves.png", "groups.png", "classes.png"

__all__ = [
    "CALIBRATION",
    "CHECKPOINT",
    "CLASS_COUNT",
    "CONFIG",
    "CURVES",
    "EDITS",
    "GROUPS",
    "METRICS",
    "MODEL",
    "PREDICTIONS",
    "REPORT",
    "TIMING",
    "check_free",
    "read_metrics",
    "run_file",
]


def run_file(folder: Path, name: str) -> Path:
    """A file a run must have."""
    path = folder / name
    if not path.is_file():
        raise UserError(f"{folder} does not hold a finished run: {name} is missing")
    return path


def check_free(folder: Path) -> None:
    """Refuse an output folder that holds a run, or that cannot be one."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--out {folder} is a file; give a folder")
    taken = [name for name in (CONFIG, METRICS, PREDICTIONS, MODEL) if (folder / name).exists()]
    if taken:
        raise UserError(f"{folder} already holds a run ({taken[0]}); give another --out, or --resume to go on with it")
    parent = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not os.access(parent, os.W_OK):
        raise UserError(f"cannot write to {parent}; give another --out")
