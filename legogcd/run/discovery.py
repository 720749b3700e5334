"""The result of a run: each image's category, known or new, and how sure; and predictions.csv, where it is kept."""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from legogcd.collection.group_names import class_names
from legogcd.csv_text import read_rows, write_rows
from legogcd.errors import UserError
from legogcd.run.folder import PREDICTIONS, run_file
from legogcd.wording import counted, printable

COLUMNS = ("path", "category", "status", "confidence", "predicted")
STATUSES = ("labelled", "known", "novel")
_SHARE = re.compile(r"0(\.\d+)?|1(\.0+)?")


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
        return pd.DataFrame(dict(zip(COLUMNS, self.columns(), strict=True)))

    def columns(self) -> tuple[Sequence[str], Sequence[str], Sequence[str], np.ndarray, Sequence[str]]:
        """Those of predictions.csv, in its order; texts that are alike are one text."""
        names = self.class_names
        predicted = [names[predicted] for predicted in self.predicted]
        return self.names, self.categories, self.status, np.round(self.confidence.astype(float), 4), predicted

    def summary(self) -> str:
        """One line for people."""
        status = pd.Series(self.status).value_counts()
        groups = len({predicted for predicted in self.predicted[self.labels < 0] if predicted >= len(self.known)})
        return (
            f"{len(self.names)} images: {status.get('labelled', 0)} labelled, "
            f"{status.get('known', 0)} found in {counted(len(self.known), 'known class')}, "
            f"{status.get('novel', 0)} in {counted(groups, 'new group')}"
        )


def write_predictions(folder: Path, discovery: Discovery) -> None:
    """predictions.csv; any name a file system allows comes back from it."""
    paths, categories, status, confidence, predicted = discovery.columns()
    shares = (f"{share:.4f}" for share in confidence)
    write_rows(folder / PREDICTIONS, COLUMNS, zip(paths, categories, status, shares, predicted, strict=True))


def read_predictions(folder: Path) -> pd.DataFrame:
    """predictions.csv of a run, text as text; what cannot be is said with its line."""
    path = run_file(folder, PREDICTIONS)
    names: dict[str, None] = {}
    others: tuple[list[str], ...] = ([], [], [], [])
    known: dict[str, str] = {}  # few texts stand in very many cells: one of each is enough
    for row in read_rows(path, COLUMNS):
        wrong = _what_is_wrong(row.cells, names.keys())
        if wrong:
            raise UserError(f"{path} line {row.line} has {wrong}; it is not what a run writes")
        names[row.cells[0]] = None
        for column, cell in zip(others, row.cells[1:], strict=True):
            column.append(known.setdefault(cell, cell))
    if not names:
        raise UserError(f"{path} holds no image")
    table = pd.DataFrame(dict(zip(COLUMNS, (list(names), *others), strict=True)), dtype=object)
    table["confidence"] = table["confidence"].astype(float)
    return table


def _what_is_wrong(cells: list[str], seen: Set[str]) -> str:
    """What no run would have written into a row, in words; nothing where all is as it should be."""
    name, category, status, confidence, predicted = cells
    if not name:
        return "no path"
    if name in seen:
        return f"{printable(name)!r} once more"
    if not category or not predicted:
        return "no category"
    if status not in STATUSES:
        return f"the status {status[:20]!r}"
    return "" if _SHARE.fullmatch(confidence) else f"the confidence {confidence[:20]!r}"
