"""A finished run on other images, batch by batch; nothing but the current batch is in memory."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from legogcd.clustering.candidates import candidate_groups
from legogcd.collection import UNLABELLED, Images
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.evaluation.collapse import collapse_of_table
from legogcd.evaluation.strangers import FALSE_ALARMS
from legogcd.run.arguments import PARTS_SUFFIX, check_table
from legogcd.run.categories import Categories
from legogcd.run.config import read_config
from legogcd.run.discovery import read_predictions
from legogcd.run.folder import EDITS
from legogcd.run.manifest import read_manifest
from legogcd.run.model import Model, load_run
from legogcd.run.prediction_parts import FEATURES, PartEngine, Parts, completed, here, keep_parts
from legogcd.run.prediction_tables import STRANGER_GROUP, called_strangers, open_table
from legogcd.vision.features import stored_states
from legogcd.vision.views.opening import ViewStorage, open_views
from legogcd.wording import counted

COLUMNS = ("path", "category", "status", "confidence", "unsure", "stranger", "strangeness")
NO_STRANGERS = (
    "this run has no strangers.json (it is of an older version, or had too few images to learn from): which images "
    "belong to no category is not said"
)


@dataclass
class Predicted:
    """How a prediction went: images by status, how many were unsure, and those that could not be read."""

    counts: Counter[str] = field(default_factory=Counter)
    unsure: int = 0
    strangers: int | None = None  # None: the run cannot tell
    groups: int | None = None  # of strangers, where that was asked for
    unreadable: dict[str, str] = field(default_factory=dict)

    def count(self, table: pd.DataFrame, unreadable: dict[str, str]) -> None:
        """Another part, and what of it could not be read."""
        self.unreadable |= unreadable
        if len(table):
            self.add(table)

    def add(self, table: pd.DataFrame) -> None:
        self.counts.update(table["status"])
        self.unsure += int(table["unsure"].sum())
        if not table["stranger"].isna().any():
            self.strangers = (self.strangers or 0) + int(table["stranger"].sum())

    def summary(self) -> str:
        """One line for people."""
        total = counted(sum(self.counts.values()), "image")
        line = f"{total}: {self.counts['known']} known, {self.counts['novel']} novel; {self.unsure} unsure"
        if self.strangers is not None:
            line += f"; {counted(self.strangers, 'stranger')}, which look like none of the categories"
        if self.groups is not None:
            line += f", in {counted(self.groups, 'candidate group')}"
        return line


class Predictor:
    """A trained model with the names its classes have: prototypes that were merged count as one category."""

    def __init__(self, model: Model, categories: Categories, false_alarms: float = FALSE_ALARMS) -> None:
        self.model, self.categories, self.false_alarms = model, categories, false_alarms

    def tables(self, images: Images, unreadable: dict[str, str]) -> Iterator[pd.DataFrame]:
        """The columns ``COLUMNS`` for one batch of images after the other; unreadable ones are noted and left out."""
        for table, _ in self.batches(images, unreadable):
            yield table

    def batches(self, images: Images, unreadable: dict[str, str]) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
        """The same, each with the images' features [n, D]."""
        names = np.array(self.categories.names, dtype=object)
        status = self.categories.status
        for batch in self.model.batches(images):
            unreadable |= {images.names[row]: reason for row, reason in batch.unreadable.items()}
            if not batch.rows:
                continue
            belief = self.categories.belief(self.model.classify(batch.features))  # [n, C]
            best = belief.argmax(axis=1)
            confidence = belief[np.arange(len(best)), best]
            table = pd.DataFrame(
                {
                    "path": [images.names[row] for row in batch.rows],
                    "category": names[best],
                    "status": status[best],
                    "confidence": np.round(confidence.astype(float), 4),
                    "unsure": self.model.calibration.unsure(confidence),
                    **self._strangers(self.model.distance(batch.features)),
                }
            )
            yield table, batch.features.cpu().numpy()

    def _strangers(self, distances: np.ndarray) -> dict[str, Any]:
        """The columns about strangers, empty where the run cannot tell."""
        usual = self.model.strangers
        if usual is None:
            return {"stranger": pd.array([None] * len(distances), "boolean"), "strangeness": np.nan}
        strange = usual.strangers(distances, self.false_alarms)
        return {"stranger": strange, "strangeness": np.round(usual.strangeness(distances), 4)}


def open_predictor(
    run: Path,
    *,
    unsure_below: float | None = None,
    false_alarms: float = FALSE_ALARMS,
    backbone: str | None = None,
    device: str = "auto",
    threads: int | None = None,
) -> Predictor:
    """The model of a finished run, its classes as they are called after the edits."""
    model, _ = load_run(run, backbone, device, threads)
    if unsure_below is not None:
        model.calibration = replace(model.calibration, threshold=unsure_below)
    return Predictor(model, Categories.of_run(run, model.known, model.n_classes), false_alarms)


def predict_run(
    run: Path,
    images: Images,
    out: Path,
    *,
    unsure_below: float | None = None,
    false_alarms: float = FALSE_ALARMS,
    group_strangers: bool = False,
    backbone: str | None = None,
    device: str = "auto",
    threads: int | None = None,
    display: Quiet | None = None,
    engine: PartEngine = here,
) -> Predicted:
    """Sort other images with the model of a finished run into a table: CSV, JSON lines or Parquet by ``out``'s ending,
    or a folder of Parquet files where it is ``.parts``.

    The table appears when it is whole; a prediction that was stopped goes on with the same arguments.
    ``unsure_below`` replaces the threshold that was found on held-out labels; ``false_alarms`` is the share of images
    of the run's categories that may be called strangers. With ``group_strangers`` the column stranger_group has
    candidate groups of them; the table is in memory then. ``engine`` makes the parts.
    """
    display = display or Quiet()
    check_table(out)
    if group_strangers and out.suffix.lower() == PARTS_SUFFIX:
        raise UserError(f"--group-strangers needs a table in one file, not {out.name}")
    collapsed = run_collapsed(run)
    if collapsed:
        display.warn(f"in {run} {collapsed}")
    predictor = open_predictor(
        run,
        unsure_below=unsure_below,
        false_alarms=false_alarms,
        backbone=backbone,
        device=device,
        threads=threads,
    )
    if predictor.model.strangers is None:
        display.warn(NO_STRANGERS)
    question = {"run": _digests(run), "unsure_below": unsure_below, "false_alarms": false_alarms}
    gpu = predictor.model.runtime.device.type == "cuda"
    parts = Parts(images, predictor.batches, question, group_strangers, gpu)
    try:
        with (
            display.counting("sorting images", len(images)) as progress,
            completed(parts, out, progress, display.note, engine) as folder,
        ):
            return _joined(parts, folder, out)
    except OSError as error:
        raise UserError(f"cannot write {str(out)!r}: {error.strerror}") from None


def _digests(run: Path) -> dict[str, Any]:
    """What a run's answers depend on: what it learned, and what was decided since."""
    edits = run / EDITS
    return {**read_manifest(run), EDITS: hashlib.sha256(edits.read_bytes()).hexdigest() if edits.exists() else ""}


def _joined(parts: Parts, folder: Path, out: Path) -> Predicted:
    """The parts as the one table that was asked for."""
    found = Predicted()
    if out.suffix.lower() == PARTS_SUFFIX:
        for shard in parts.shards:
            found.count(*parts.read(folder, shard))
        keep_parts(folder, out, parts.shards)
        return found
    held: list[tuple[pd.DataFrame, np.ndarray]] = []
    with open_table(out, parts.grouped) as write:
        for shard in parts.shards:
            table, unreadable = parts.read(folder, shard)
            found.count(table, unreadable)
            if parts.grouped:
                features = [np.asarray(row, np.float32) for row in table.pop(FEATURES) if row is not None]
                held.append((table, np.stack(features) if features else np.zeros((0, 1), np.float32)))
            else:
                write(table)
        if sum(found.counts.values()) and held:
            grouped, found.groups = with_groups(held)
            write(grouped)
    return found


def with_groups(held: list[tuple[pd.DataFrame, np.ndarray]]) -> tuple[pd.DataFrame, int]:
    """Tables as one, with candidate groups of the strangers, whose features were held; and how many groups."""
    table = pd.concat([each for each, _ in held], ignore_index=True)
    strange = [features for _, features in held if len(features)]
    groups = candidate_groups(np.concatenate(strange)) if strange else np.zeros(0, np.int64)
    names = np.array([None, *(f"stranger-{number + 1:03d}" for number in range(groups.max(initial=-1) + 1))], object)
    table[STRANGER_GROUP] = None
    table.loc[called_strangers(table), STRANGER_GROUP] = names[groups + 1]
    return table, len(names) - 1


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
