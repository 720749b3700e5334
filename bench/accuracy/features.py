"""How good are untrained features? ``python -m bench.accuracy.features --data … --backbones … --out CSV``.

Of every image the evaluation view alone: 1-NN and 10-NN (leave one out, all true classes), and All after matching of
k-means, semi-supervised k-means, and the latter among whitened features, without and with the exchange of single points
(as legogcd+ starts, but for the known share), and once more from the true classes; ``--probe`` adds what
`bench.accuracy.probe` says. Features are kept in ``--cache``; rows the file already has are not computed again. The
cost of encoding is CPU time, which a busy machine disturbs less.
"""

import argparse
import csv
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from bench.accuracy.probe import half_score
from bench.accuracy.study import DataSet
from legogcd.clustering import directions, exchanged, kmeans, semi_supervised_kmeans
from legogcd.collection import Images
from legogcd.evaluation import clustering_accuracy
from legogcd.methods.legogcd_plus.whitening import Whitening
from legogcd.methods.recipes.legogcd_plus import LegoGCDPlusRecipe
from legogcd.run.runtime import open_runtime
from legogcd.vision.backbones import load_backbone
from legogcd.vision.features import features, stacked, streamed_states
from legogcd.vision.views.encode import Encoder

STARTS = 10  # of each k-means
FIELDS = (
    *("dataset", "backbone", "pixels", "nn1", "nn10", "kmeans", "sskmeans", "whitened", "exchanged", "from_truth"),
    *("probe", "cpu_ms"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy.features", description=__doc__)
    parser.add_argument("--data", type=DataSet.read, nargs="+", required=True, metavar="DIR:KNOWN[:PIXELS]")
    parser.add_argument("--backbones", nargs="+", required=True)
    parser.add_argument("--cache", type=Path, required=True, help="folder that keeps the features")
    parser.add_argument("--out", type=Path, required=True, help="CSV that collects the rows")
    parser.add_argument("--probe", action="store_true", help="the supervised probe too")
    options = parser.parse_args(arguments)
    options.cache.mkdir(parents=True, exist_ok=True)
    for data in options.data:
        for backbone in options.backbones:
            if not _has(options.out, data, backbone):
                row = measured(data, backbone, options.cache, options.probe)
                _add(options.out, row)
                print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)


def measured(data: DataSet, backbone: str, cache: Path, probe: bool) -> dict[str, str]:
    """A row of the table: percent, and milliseconds of CPU time per image."""
    collection, truth = data.open()
    labels, classes, n_classes = collection.labels, truth.encode(collection), truth.n_classes(collection)
    found, seconds = kept_features(collection.images, data, backbone, cache)
    whitening = Whitening(found.shape[1], LegoGCDPlusRecipe(start="kmeans").whitened_width(n_classes))
    whitening.fit(found, labels)
    points = directions(found)
    whitened = directions(whitening.of(found))
    held = {
        name: semi_supervised_kmeans(
            seen, labels, n_classes, seed=0, n_init=STARTS, n_known=collection.n_known, exchange=exchange
        ).labels
        for name, seen, exchange in (
            ("sskmeans", points, False),
            ("whitened", whitened, False),
            ("exchanged", whitened, True),
        )
    }
    rest = exchanged(whitened, labels, classes, n_classes)  # what the features allow, not what can be found
    clusters = {"kmeans": kmeans(points, n_classes, seed=0, n_init=STARTS).labels, **held, "from_truth": rest}
    unlabelled = labels < 0
    scores = {
        name: clustering_accuracy(classes[unlabelled], found_classes[unlabelled], collection.n_known)
        for name, found_classes in clusters.items()
    }
    return {
        "dataset": data.name,
        "backbone": backbone,
        "pixels": str(data.image_size),
        "nn1": f"{100 * neighbors_right(points, classes, 1):.1f}",
        "nn10": f"{100 * neighbors_right(points, classes, 10):.1f}",
        **{name: f"{100 * score.all:.1f}" for name, score in scores.items()},
        "probe": f"{100 * half_score(points, classes, 0):.1f}" if probe else "",
        "cpu_ms": f"{1000 * seconds / len(labels):.1f}",
    }


def kept_features(images: Images, data: DataSet, backbone: str, cache: Path) -> tuple[np.ndarray, float]:
    """Features [N, D] of all images and the CPU seconds they took, from the cache where they are in it."""
    path = cache / f"{data.name}-{backbone}-{data.image_size}.npz"
    if not path.exists():
        runtime = open_runtime("cpu", "fp32", None)
        encoder = Encoder(load_backbone(backbone, data.image_size), torch.device("cpu"), "fp32")
        began = time.process_time()
        batches = features(encoder.backbone.tail, streamed_states(encoder, images, "bf16"), runtime)
        found = stacked((batch.features for batch in batches), len(images))
        np.savez(path, features=found, seconds=time.process_time() - began)
    with np.load(path) as kept:
        return kept["features"], float(kept["seconds"])


def neighbors_right(points: np.ndarray, classes: np.ndarray, count: int) -> float:
    """How often the ``count`` nearest other images vote for the right class; the nearest decides a draw."""
    votes = np.zeros((len(points), classes.max() + 1))
    cosines = points @ points.T
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argsort(-cosines, axis=1)[:, :count]
    rows = np.arange(len(points))
    for place in range(count):
        votes[rows, classes[nearest[:, place]]] += 1 + (count - place) / (10 * count**2)
    return float((votes.argmax(axis=1) == classes).mean())


def _has(path: Path, data: DataSet, backbone: str) -> bool:
    if not path.exists():
        return False
    with path.open(newline="") as file:
        return any(
            (row["dataset"], row["backbone"], row["pixels"]) == (data.name, backbone, str(data.image_size))
            for row in csv.DictReader(file)
        )


def _add(path: Path, row: dict[str, str]) -> None:
    there = path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not there:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
