"""A finished run on other images, batch by batch; nothing but the current batch is in memory."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from legogcd.collection import UNLABELLED, Images
from legogcd.display import Quiet
from legogcd.evaluation.collapse import collapse_of_table
from legogcd.run.categories import Categories
from legogcd.run.config import read_config
from legogcd.run.discovery import read_predictions
from legogcd.run.model import Model, load_run
from legogcd.run.prediction_tables import open_table
from legogcd.vision.features import stored_states
from legogcd.vision.views.opening import ViewStorage, open_views
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
    """A trained model with the names its classes have: prototypes that were merged count as one category."""

    def __init__(self, model: Model, categories: Categories) -> None:
        self.model, self.categories = model, categories

    def tables(self, images: Images, unreadable: dict[str, str]) -> Iterator[pd.DataFrame]:
        """The columns ``COLUMNS`` for one batch of images after the other; unreadable ones are noted and left out."""
        names = np.array(self.categories.names, dtype=object)
        status = np.where(self.categories.known, "known", "novel")
        for batch in self.model.batches(images):
            unreadable |= {images.names[row]: reason for row, reason in batch.unreadable.items()}
            if not batch.rows:
                continue
            belief = self.categories.belief(self.model.classify(batch.features))  # [n, C]
            best = belief.argmax(axis=1)
            confidence = belief[np.arange(len(best)), best]
            yield pd.DataFrame(
                {
                    "path": [images.names[row] for row in batch.rows],
                    "category": names[best],
                    "status": status[best],
                    "confidence": np.round(confidence.astype(float), 4),
                    "unsure": self.model.calibration.unsure(confidence),
                }
            )


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
    return Predictor(model, Categories.of_run(run, model.known, model.n_classes))


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
        collapsed = run_collapsed(run)
        if collapsed:
            display.warn(f"in {run} {collapsed}")
        predictor = open_predictor(run, unsure_below=unsure_below, backbone=backbone, device=device, threads=threads)
        with display.counting("sorting images", len(images)) as progress:
            for table in predictor.tables(images, found.unreadable):
                write(table)
                found.add(table)
                progress(sum(found.counts.values()) + len(found.unreadable))
    return found


def run_collapsed(run: Path) -> str | None:
    """What to say of a run whose training came to nothing, before anybody relies on it; None of any other."""
    config = read_config(run)
    return collapse_of_table(read_predictions(run), config.n_classes, len(config.known))


def classes_of(model: Model, images: Images, storage: ViewStorage, display: Quiet | None = None) -> np.ndarray:
    """Classes [N] a trained model gives to other images, such as a test split; -1 where one cannot be read.

    Their evaluation views are kept, so that the next model on the same backbone need not encode them again.
    """
    opened = open_views(model.encoder, images, replace(storage, views="fresh"), display or Quiet())
    rows = torch.tensor([row for row in range(len(images)) if row not in opened.unreadable])
    predicted = np.full(len(images), UNLABELLED)
    for batch in model.features(stored_states(opened.source, rows, model.runtime.device)):
        predicted[batch.rows] = model.classify(batch.features).argmax(axis=1)
    return predicted
