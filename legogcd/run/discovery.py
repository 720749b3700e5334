"""The result of a run: each image's category, known or new, and how sure; and predictions.csv, where it is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from legogcd.collection.group_names import class_names
from legogcd.csv_text import read_rows, write_rows
from legogcd.errors import UserError
from legogcd.run.folder import PREDICTIONS, run_file

COLUMNS = ("path", "category", "status", "confidence", "predicted")


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
        """One row per image, with the columns of predictions.csv."""
        names = self.class_names
        return pd.DataFrame(
            {
                "path": self.names,
                "category": self.categories,
                "status": self.status,
                "confidence": np.round(self.confidence.astype(float), 4),
                "predicted": [names[predicted] for predicted in self.predicted],
            },
            dtype=object,  # pandas' own text type is UTF-8 only, which file names need not be
        ).astype({"confidence": float})

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
    """predictions.csv; any name comes back as it was."""
    table = discovery.table()
    table["confidence"] = [f"{confidence:.4f}" for confidence in table["confidence"]]
    write_rows(folder / PREDICTIONS, COLUMNS, table[list(COLUMNS)].to_numpy().tolist())


def read_predictions(folder: Path) -> pd.DataFrame:
    """predictions.csv of a run, text as text."""
    path = run_file(folder, PREDICTIONS)
    rows = read_rows(path, COLUMNS)
    table = pd.DataFrame([row.cells for row in rows], columns=list(COLUMNS), dtype=object)
    try:
        table["confidence"] = table["confidence"].astype(float)
    except ValueError as error:
        raise UserError(f"{str(path)!r} has a confidence that is no number: {error}") from None
    return table
