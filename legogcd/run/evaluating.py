"""A finished run held against a truth."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from legogcd.collection import UNLABELLED, Collection, ImageFiles, read_truth
from legogcd.collection.group_names import class_names
from legogcd.evaluation import forgetting
from legogcd.evaluation.scorer import Scorer
from legogcd.run.config import read_config
from legogcd.run.discovery import read_predictions
from legogcd.run.folder import read_metrics


def forgotten(metrics: Sequence[Mapping[str, Any]]) -> float:
    """How much of Old a run lost since its best epoch; NaN where fewer than two epochs were scored."""
    return forgetting(entry["old"] for entry in metrics if entry.get("old") is not None)


def evaluate_run(run: Path, truth: Path, balanced: bool = False) -> dict[str, Any]:
    """All/Old/New, NMI and ARI of a finished run over its unlabelled images, how many were scored, and, where the
    run was scored while it trained, how much of Old it forgot."""
    table, config = read_predictions(run), read_config(run)
    images = ImageFiles(Path(config.images.root or "."), tuple(table["path"]))
    known_truth = read_truth(truth, images)
    place = {name: number for number, name in enumerate(class_names(config.known, config.n_classes))}
    labels = np.where(table["status"] == "labelled", table["category"].map(place), UNLABELLED).astype(np.int64)
    collection = Collection(images, labels, config.known, known_by_name=True)
    predicted = table["predicted"].map(place).to_numpy(np.int64)
    codes = known_truth.encode_unlabelled(collection)
    scores: dict[str, Any] = dict(Scorer(codes, collection.n_known, balanced)(predicted))
    metrics = read_metrics(run)
    if any(entry.get("old") is not None for entry in metrics):
        scores["forgetting"] = forgotten(metrics)
    return {**scores, "images": int((codes >= 0).sum()), "unmatched": known_truth.unmatched}
