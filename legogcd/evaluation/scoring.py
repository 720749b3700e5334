"""Score a collection's predictions, while it trains or from a finished run folder."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from legogcd.collection import Collection, ImageFiles, Truth, from_labels, read_truth
from legogcd.discovery import read_config, read_metrics, read_predictions
from legogcd.evaluation.forgetting import forgetting
from legogcd.evaluation.scorer import Scorer

Scores = dict[str, float | None]


def scoring(truth: Truth) -> Callable[[Collection, np.ndarray], Scores]:
    """A function of (collection, predicted classes [N]) that scores the unlabelled images; None where a part is empty.

    Training can call it without being given the truth.
    """

    def score(collection: Collection, predicted: np.ndarray) -> Scores:
        codes = np.where(collection.labelled, -1, truth.encode(collection))
        scores = Scorer(codes, collection.n_known)(predicted)
        return {name: None if math.isnan(value) else round(value, 6) for name, value in scores.items()}

    return score


def evaluate_run(run: Path, truth: Path, balanced: bool = False) -> dict[str, Any]:
    """All/Old/New, NMI and ARI of a finished run over its unlabelled images, how many were scored, and, where the
    run was scored while it trained, how much of Old it forgot."""
    table, config = read_predictions(run), read_config(run)
    images = ImageFiles(Path(config["images"]["root"] or "."), tuple(table["path"]))
    known_truth = read_truth(truth, images)
    labelled = table[table["status"] == "labelled"]
    collection = from_labels(images, dict(zip(labelled["path"], labelled["category"], strict=True)))
    clusters = {name: number for number, name in enumerate(sorted(set(table["predicted"])))}
    predicted = table["predicted"].map(clusters).to_numpy(np.int64)
    codes = np.where(collection.labelled, -1, known_truth.encode(collection))
    scores: dict[str, Any] = dict(Scorer(codes, collection.n_known, balanced)(predicted))
    old = [entry["old"] for entry in read_metrics(run) if entry.get("old") is not None]
    if old:
        scores["forgetting"] = forgetting(old)
    return {**scores, "images": int((codes >= 0).sum()), "unmatched": known_truth.unmatched}
