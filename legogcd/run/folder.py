"""The run folder: what its files are called, and whether a folder may become one."""

import os
from pathlib import Path
from typing import Any

from legogcd.errors import UserError
from legogcd.run.manifest import MANIFEST, check_sealed
from legogcd.training.files import CHECKPOINT, METRICS, MODEL, TIMING
from legogcd.training.files import read_metrics as read_log

CONFIG, PREDICTIONS, CALIBRATION = "config.json", "predictions.csv", "calibration.json"
EDITS, REPORT = "edits.jsonl", "report.html"
COLLECTION, SKIPPED = "collection.csv", "skipped.csv"
NEAR_DUPLICATES, STRANGERS = "near_duplicates.csv", "strangers.json"
LOCK = ".lock"
SEALED = (  # what a manifest has digests of
    CONFIG,
    COLLECTION,
    SKIPPED,
    NEAR_DUPLICATES,
    METRICS,
    MODEL,
    CALIBRATION,
    STRANGERS,
    PREDICTIONS,
)
CURVES, GROUPS, CLASS_COUNT = "curves.png", "groups.png", "classes.png"

__all__ = [
    "CALIBRATION",
    "CHECKPOINT",
    "CLASS_COUNT",
    "COLLECTION",
    "CONFIG",
    "CURVES",
    "EDITS",
    "GROUPS",
    "LOCK",
    "MANIFEST",
    "METRICS",
    "MODEL",
    "NEAR_DUPLICATES",
    "PREDICTIONS",
    "REPORT",
    "SEALED",
    "SKIPPED",
    "STRANGERS",
    "TIMING",
    "check_free",
    "read_metrics",
    "run_file",
]


def run_file(folder: Path, name: str) -> Path:
    """A file a run must have, as the run wrote it."""
    path = folder / name
    if not path.is_file():
        raise UserError(f"{folder} does not hold a finished run: {name} is missing")
    check_sealed(folder, name)
    return path


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """metrics.jsonl of a run, one entry per epoch, as the run wrote it."""
    if (folder / METRICS).is_file():
        check_sealed(folder, METRICS)
    return read_log(folder)


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
