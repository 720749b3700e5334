"""Score a collection's predictions, while it trains or from a finished run folder."""

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from legogcd.collection import Collection, ImageFiles, Truth, from_labels, read_truth
from legogcd.evaluation.forgetting import forgetting
from legogcd.evaluation.scorer import Scorer
from legogcd.run.folder import read_config, read_metrics, read_predictions

Scores = dict[str, float | None]


def scoring(truth: Truth) -> Callable[[Collection, np.ndarray], Scores]:
    """A function of (collection, predicted classes [N]) that scores the unlabelled images; None where a part is empty.

    Training can call it without being given the truth.
    """

    @lru_cache(maxsize=1)  # a collection is scored every epoch; its truth is encoded once
    def scorer(collection: Collection) -> Scorer:
        return Scorer(_unlabelled_codes(truth, collection), collection.n_known)

    def score(collection: Collection, predicted: np.ndarray) -> Scores:
        scores = scorer(collection)(predicted)
        return {name: None if math.isnan(value) else round(value, 6) for name, value in scores.items()}

    return score


def _unlabelled_codes(truth: Truth, collection: Collection) -> np.ndarray:
    """True class ids [N], -1 where an image is labelled or its truth is not known."""
    return np.where(collection.labelled, -1, truth.encode(collection))


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
    codes = _unlabelled_codes(known_truth, collection)
    scores: dict[str, Any] = dict(Scorer(codes, collection.n_known, balanced)(predicted))
    old = [entry["old"] for entry in read_metrics(run) if entry.get("old") is not None]
    if old:
        scores["forgetting"] = forgetting(old)
    return {**scores, "images": int((codes >= 0).sum()), "unmatched": known_truth.unmatched}
