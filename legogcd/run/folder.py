"""The result of a run: each image's category, known or new, and how sure; and the run folder it lives in."""

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from legogcd.errors import UserError
from legogcd.files import write_text

CONFIG, METRICS, TIMING, PREDICTIONS = "config.json", "metrics.jsonl", "timing.jsonl", "predictions.csv"
MODEL, CALIBRATION, REPORT = "model.safetensors", "calibration.json", "report.html"
CURVES, CHECKPOINT = "curves.png", "checkpoints/last.safetensors"
COLUMNS = ("path", "category", "status", "confidence", "predicted")


def novel_name(number: int) -> str:
    """The name of the new group ``number``, counted from 1 in prototype order: new-001, new-002, …"""
    return f"new-{number:03d}"


def class_names(known: Sequence[str], n_classes: int) -> list[str]:
    """The names of all classes in prototype order: the known ones, then the new groups."""
    return [*known, *(novel_name(number) for number in range(1, n_classes - len(known) + 1))]


@dataclass(frozen=True)
class Discovery:
    """Every image sorted. ``predicted`` and ``labels`` are class ids, known ones first; -1 = no label was given.

    >>> found = Discovery(("a.jpg", "b.jpg"), np.array([0, -1]), np.array([0, 1]), np.array([0.9, 0.6]), ("owl",), 2)
    >>> found.categories, found.status
    (['owl', 'new-001'], ['labelled', 'novel'])
    """

    names: tuple[str, ...]
    labels: np.ndarray
    predicted: np.ndarray
    confidence: np.ndarray
    known: tuple[str, ...]
    n_classes: int
    unreadable: Mapping[str, str] = field(default_factory=dict)

    @property
    def class_names(self) -> list[str]:
        """The name of every prototype, known ones first."""
        return class_names(self.known, self.n_classes)

    @property
    def categories(self) -> list[str]:
        """The given label where there is one, else the predicted class."""
        names = self.class_names
        return [
            names[predicted if label < 0 else label]
            for label, predicted in zip(self.labels, self.predicted, strict=True)
        ]

    @property
    def status(self) -> list[str]:
        """labelled, known or novel."""
        return [
            "labelled" if label >= 0 else "known" if predicted < len(self.known) else "novel"
            for label, predicted in zip(self.labels, self.predicted, strict=True)
        ]

    def table(self) -> pd.DataFrame:
        """One row an image, with the columns of predictions.csv."""
        names = self.class_names
        return pd.DataFrame(
            {
                "path": self.names,
                "category": self.categories,
                "status": self.status,
                "confidence": np.round(self.confidence.astype(float), 4),
                "predicted": [names[predicted] for predicted in self.predicted],
            }
        )

    def summary(self) -> str:
        """One line for people."""
        status = pd.Series(self.status).value_counts()
        groups = len({predicted for predicted in self.predicted[self.labels < 0] if predicted >= len(self.known)})
        return (
            f"{len(self.names)} images: {status.get('labelled', 0)} labelled, "
            f"{status.get('known', 0)} found in {len(self.known)} known classes, "
            f"{status.get('novel', 0)} in {groups} new groups"
        )


def write_predictions(folder: Path, discovery: Discovery) -> None:
    """predictions.csv; names with commas, quotes or line breaks are quoted."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in discovery.table().itertuples(index=False):
        writer.writerow([row.path, row.category, row.status, f"{row.confidence:.4f}", row.predicted])
    write_text(folder / PREDICTIONS, text.getvalue())


def read_predictions(folder: Path) -> pd.DataFrame:
    """predictions.csv of a run, text as text."""
    table = pd.read_csv(
        run_file(folder, PREDICTIONS), dtype={name: str for name in COLUMNS if name != "confidence"}, na_filter=False
    )
    table["confidence"] = table["confidence"].astype(float)
    return table


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    write_text(folder / CONFIG, json.dumps(config, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read_config(folder: Path) -> dict[str, Any]:
    """config.json of a run."""
    path = run_file(folder, CONFIG)
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise UserError(f"{path} is not a legogcd configuration (it is not JSON)") from None
    return config


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """metrics.jsonl of a run, one entry an epoch; a last line cut off by a crash is left out."""
    path = folder / METRICS
    entries = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            entries.append(json.loads(line))
        except ValueError:
            break
    return entries


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
