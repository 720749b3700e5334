"""How far can these features go? ``python -m bench.accuracy.probe --data DIR:KNOWN[:PIXELS] …``.

Logistic regression on the untrained features (at length 1), with the true classes of a random half of all images; the
score is its accuracy on the other half. Category discovery has no labels of new classes, so this is a ceiling to hold
its scores against, though not a strict one: training the tail changes the features.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from bench.accuracy.study import DataSet
from legogcd.display import Quiet
from legogcd.evaluation.results import spread
from legogcd.run import Job, RunOptions, prepare


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy.probe", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=DataSet.read, nargs="+", required=True, metavar="DIR:KNOWN[:PIXELS]")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--seeds", type=int, default=5, help="how many random halves")
    options = parser.parse_args()
    for data in options.data:
        features, _, classes = untrained_features(data, options.cache)
        scores = [half_score(features, classes, seed) for seed in range(options.seeds)]
        print(f"{data.name}: {spread(scores)}", flush=True)


def untrained_features(data: DataSet, cache: Path | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features [N, D] at length 1 of a data set's images, the labels they have and their true classes, each [N]."""
    collection, truth = data.open()
    n_classes = truth.n_classes(collection)
    options = RunOptions(n_classes=n_classes, image_size=data.image_size, held_out=0, cache=cache)
    prepared = prepare(Job(collection, options), Quiet())
    return prepared.directions(), prepared.labels, truth.encode(prepared.collection)


def half_score(features: np.ndarray, classes: np.ndarray, seed: int) -> float:
    order = np.random.default_rng(seed).permutation(len(classes))
    seen, others = np.split(order, [len(order) // 2])
    probe = LogisticRegression(C=30, max_iter=500).fit(features[seen], classes[seen])
    return float(probe.score(features[others], classes[others]))


if __name__ == "__main__":
    main()
