"""Look at images batch by batch with a trained model; nothing but the current batch is in memory."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from legogcd.collection import Images
from legogcd.display import Quiet
from legogcd.edits import named_now
from legogcd.evaluation.calibration import Calibration
from legogcd.run.folder import class_names
from legogcd.run.model import Model, load_run
from legogcd.run.prediction_tables import open_table
from legogcd.wording import counted

COLUMNS = ("path", "category", "status", "confidence", "unsure")


@dataclass
class Predicted:
    """How a prediction went: images by status, how many were unsure, and those that could not be read."""

    counts: Counter[str] = field(default_factory=Counter)
    unsure: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)

    def add(self, table: pd.DataFrame) -> None:
        self.counts.update(table["status"])
        self.unsure += int(table["unsure"].sum())

    def summary(self) -> str:
        """One line for people."""
        total = counted(sum(self.counts.values()), "image")
        return f"{total}: {self.counts['known']} known, {self.counts['novel']} novel; {self.unsure} unsure"


class Predictor:
    """A trained model with the names its classes have: prototypes that were merged count as one category.

    ``categories`` has (name, known) for every prototype.
    """

    def __init__(self, model: Model, categories: Sequence[tuple[str, bool]]) -> None:
        self.model = model
        self.names = list(dict.fromkeys(name for name, _ in categories))
        place = {name: number for number, name in enumerate(self.names)}
        self._column = np.array([place[name] for name, _ in categories])  # [K] a prototype's category
        known = {name for name, is_known in categories if is_known}
        self._status = np.array(["known" if name in known else "novel" for name in self.names])

    @property
    def calibration(self) -> Calibration:
        return self.model.calibration

    def tables(self, images: Images, unreadable: dict[str, str]) -> Iterator[pd.DataFrame]:
        """The columns ``COLUMNS`` for one batch of images after the other; unreadable ones are noted and left out."""
        names = np.array(self.names, dtype=object)
        for seen in self.model.look(images):
            unreadable |= {images.names[row]: reason for row, reason in seen.unreadable.items()}
            if seen.features is None:
                continue
            belief = self._belief(self.model.classify(seen.features))
            best = belief.argmax(axis=1)
            confidence = belief[np.arange(len(best)), best]
            yield pd.DataFrame(
                {
                    "path": [images.names[row] for row in seen.rows],
                    "category": names[best],
                    "status": self._status[best],
                    "confidence": np.round(confidence.astype(float), 4),
                    "unsure": self.calibration.unsure(confidence),
                }
            )

    def _belief(self, probabilities: np.ndarray) -> np.ndarray:
        """Probabilities of prototypes [n, K] as those of categories [n, C]."""
        if len(self.names) == len(self._column):
            return probabilities
        belief = np.zeros((len(probabilities), len(self.names)), probabilities.dtype)
        np.add.at(belief.T, self._column, probabilities.T)
        return belief


def open_predictor(
    run: Path,
    *,
    unsure_below: float | None = None,
    backbone: str | None = None,
    device: str = "auto",
    threads: int | None = None,
) -> Predictor:
    """The model of a finished run, its classes as they are called after the edits."""
    model, _ = load_run(run, backbone, device, threads)
    if unsure_below is not None:
        model.calibration = replace(model.calibration, threshold=unsure_below)
    return Predictor(model, named_now(run, class_names(model.known, model.n_classes)))


def predict_run(
    run: Path,
    images: Images,
    out: Path,
    *,
    unsure_below: float | None = None,
    backbone: str | None = None,
    device: str = "auto",
    threads: int | None = None,
    display: Quiet | None = None,
) -> Predicted:
    """Sort other images with the model of a finished run into a table, CSV, JSON lines or Parquet by ``out``'s ending.

    The table appears when it is whole. ``unsure_below`` replaces the threshold that was found on held-out labels.
    """
    display, found = display or Quiet(), Predicted()
    with open_table(out) as write:
        predictor = open_predictor(run, unsure_below=unsure_below, backbone=backbone, device=device, threads=threads)
        with display.counting("sorting images", len(images)) as progress:
            for table in predictor.tables(images, found.unreadable):
                write(table)
                found.add(table)
                progress(sum(found.counts.values()) + len(found.unreadable))
    return found
