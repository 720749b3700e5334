"""Images of no category of a run: ``python -m bench.accuracy.strangers --data DIR:KNOWN … --out CSV``.

Of each data set half of the new classes, another half for each seed, and a quarter of the other unlabelled images are
taken out before a run. The classes play strangers, the images those that belong; both are scored by the run as
`legogcd predict` would. Every score calls a stranger what is beyond 95 % of the run's own unlabelled images (for scores
made of distances: each without itself), so that nothing is learned from strangers. The truth scores alone. Rows that
the file has are not computed again.
"""

import argparse
import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
import torch
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score

from bench.accuracy.study import DataSet
from legogcd.clustering import directions
from legogcd.display import Quiet
from legogcd.evaluation.results import spread
from legogcd.evaluation.strangers import FALSE_ALARMS, nearest_distance
from legogcd.methods.legogcd_plus.whitening import around_class_means, equalizing, principal_axes
from legogcd.run import Job, RunOptions, prepare
from legogcd.run.job import Prepared
from legogcd.run.pipeline import computed

OUT_OF_THE_RUN = 0.25  # of the unlabelled images that belong
WHITENED = 128
TEMPERATURE = 0.1  # of the energy, at which probabilities are made of logits too
SCORES = {
    "max-probability": "1 − the calibrated confidence",
    "nearest prototype": "1 − the largest cosine to a prototype: what `legogcd predict` uses",
    "energy": "−τ log Σ exp(z/τ), τ = 0.1",
    "nearest mean": "trained features: 1 − cosine to the nearest category's mean",
    "nearest mean, whitened": "the same after whitening within categories, 128 dimensions",
    "nearest mean, untrained, whitened": "the same on untrained features",
    "Mahalanobis": "trained features: squared distance to the nearest mean, covariance shared by the categories",
    "k-NN": "trained features: 1 − cosine to the fifth nearest image of the run",
}


@dataclass(frozen=True)
class Row:
    """How well a score tells the strangers of one run from the images that belong."""

    dataset: str
    seed: int
    score: str
    auroc: float
    false_alarms: float
    found: float
    belong: int
    strangers: int


@dataclass(frozen=True, eq=False)
class Trial:
    """A finished run, with features of all images [N, D], those of the run and others alike."""

    trained: np.ndarray
    untrained: np.ndarray
    logits: np.ndarray  # [N, K]
    confidence: np.ndarray  # [N]
    category: np.ndarray  # [N], -1 for images that were not in the run
    usual: np.ndarray  # [N] bool: in the run, without a label
    n_classes: int


def main() -> None:
    options = read_options()
    done = read(options.out)
    for data in options.data:
        for seed in options.seeds:
            if any((row.dataset, row.seed) == (data.name, seed) for row in done):
                continue
            done += measure(data, seed, options)
            write(options.out, done)
    for line in table(done):
        print(line)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy.strangers", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--data", type=DataSet.read, nargs="+", default=[], metavar="DIR:KNOWN[:PIXELS]")
    parser.add_argument("--out", type=Path, default=Path("results/strangers.csv"))
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--method", default="legogcd+")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--threads", type=int)
    return parser.parse_args()


def measure(data: DataSet, seed: int, options: argparse.Namespace) -> list[Row]:
    collection, truth = data.open()
    classes = truth.encode(collection)
    random = np.random.default_rng(seed)
    new = np.arange(data.known, int(classes.max()) + 1)
    strange = random.permutation(new)[: len(new) // 2]
    stranger = np.isin(classes, strange)
    unlabelled = np.flatnonzero(~collection.labelled & ~stranger)
    belongs = np.zeros(len(classes), bool)
    belongs[random.permutation(unlabelled)[: round(OUT_OF_THE_RUN * len(unlabelled))]] = True
    chosen = RunOptions(
        n_classes=int(classes.max()) + 1 - len(strange),
        method=options.method,
        epochs=options.epochs,
        image_size=data.image_size,
        seed=seed,
        cache=options.cache,
        threads=options.threads,
    )
    everything = prepare(Job(collection, chosen), Quiet())  # encoded once, whatever is taken out
    trial = run_without(everything, ~stranger & ~belongs)
    rows = []
    for name, score in scores(trial):
        usual = np.quantile(score[trial.usual], 1 - FALSE_ALARMS)
        told = np.concatenate([np.zeros(belongs.sum()), np.ones(stranger.sum())])
        rows.append(
            Row(
                data.name,
                seed,
                name,
                round(float(roc_auc_score(told, np.concatenate([score[belongs], score[stranger]]))), 4),
                round(float((score[belongs] > usual).mean()), 4),
                round(float((score[stranger] > usual).mean()), 4),
                int(belongs.sum()),
                int(stranger.sum()),
            )
        )
        print(rows[-1], flush=True)
    return rows


def run_without(everything: Prepared, kept: np.ndarray) -> Trial:
    """A run of some images, and what it makes of all."""
    rows = np.flatnonzero(kept)
    collection = everything.collection.keep(rows)
    job = replace(everything.job, collection=collection)
    untrained = everything.learner(everything.model().method).features(everything.views)
    prepared = replace(everything, job=job, collection=collection, rows=torch.from_numpy(rows))
    prepared.find_copies(Quiet())
    outcome = computed(prepared)
    method = outcome.model.method.eval()
    trained = everything.learner(method).features(everything.views)
    with torch.no_grad():
        logits = method.logits(torch.from_numpy(trained)).numpy()
    category, usual = np.full(len(kept), -1), np.zeros(len(kept), bool)
    category[rows] = np.where(collection.labels >= 0, collection.labels, outcome.discovery.predicted)
    usual[rows] = prepared.labels < 0
    confidence = outcome.model.classify_array(trained).max(axis=1)
    return Trial(trained, untrained, logits, confidence, category, usual, job.n_classes)


def scores(trial: Trial) -> Iterator[tuple[str, np.ndarray]]:
    """Every score of all images [N], higher is stranger; by the names in ``SCORES``."""
    found = {
        "max-probability": 1 - trial.confidence,
        "nearest prototype": nearest_distance(trial.logits),
        "energy": -TEMPERATURE * logsumexp(trial.logits / TEMPERATURE, axis=1),
        "nearest mean": far_from_means(directions(trial.trained), trial),
        "nearest mean, whitened": far_from_means(directions(whitened(trial.trained, trial)), trial),
        "nearest mean, untrained, whitened": far_from_means(directions(whitened(trial.untrained, trial)), trial),
        "Mahalanobis": mahalanobis(whitened(trial.trained, trial), trial),
        "k-NN": far_from_neighbours(directions(trial.trained), trial),
    }
    for name in SCORES:
        yield name, found[name]


def whitened(features: np.ndarray, trial: Trial) -> np.ndarray:
    """Along their principal axes, with as much spread around the categories' means in every direction."""
    units, inside = directions(features), np.flatnonzero(trial.category >= 0)
    origin = units[inside].mean(axis=0, dtype=np.float64)
    along = (units - origin) @ principal_axes(units[inside], origin)[:, :WHITENED]
    return np.asarray(along @ equalizing(around_class_means(along[inside], trial.category[inside])))


def sums_of(points: np.ndarray, trial: Trial) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sum [K, d] and number [K] of each category's images, and the rows that are in one."""
    inside = np.flatnonzero(trial.category >= 0)
    sums = np.zeros((trial.n_classes, points.shape[1]))
    np.add.at(sums, trial.category[inside], points[inside])
    return sums, np.bincount(trial.category[inside], minlength=trial.n_classes), inside


def far_from_means(units: np.ndarray, trial: Trial) -> np.ndarray:
    sums, sizes, inside = sums_of(units, trial)
    cosine = units @ directions(sums).T
    cosine[:, sizes == 0] = -1
    own = trial.category[inside]
    without = np.einsum("nd,nd->n", units[inside], directions(sums[own] - units[inside]))
    cosine[inside, own] = np.where(sizes[own] > 1, without, -1)
    return np.asarray(1 - cosine.max(axis=1))


def mahalanobis(points: np.ndarray, trial: Trial) -> np.ndarray:
    sums, sizes, inside = sums_of(points, trial)
    means = sums / np.maximum(sizes, 1)[:, None]
    squared = (points**2).sum(axis=1)[:, None] - 2 * points @ means.T + (means**2).sum(axis=1)
    squared[:, sizes == 0] = np.inf
    own = trial.category[inside]
    scale = (sizes[own] / np.maximum(sizes[own] - 1, 1)) ** 2  # of the distance to the mean of the others
    squared[inside, own] = np.where(sizes[own] > 1, squared[inside, own] * scale, np.inf)
    return np.asarray(squared.min(axis=1))


def far_from_neighbours(units: np.ndarray, trial: Trial, count: int = 5) -> np.ndarray:
    inside = np.flatnonzero(trial.category >= 0)
    cosine = units @ units[inside].T
    cosine[inside, np.arange(len(inside))] = -1
    return np.asarray(1 - np.sort(cosine, axis=1)[:, -count])


def read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    kinds = {field.name: field.type for field in fields(Row)}
    with open(path, encoding="utf-8", newline="") as file:
        return [Row(**{name: kinds[name](value) for name, value in row.items()}) for row in csv.DictReader(file)]  # type: ignore[operator]


def write(path: Path, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def table(rows: list[Row]) -> Iterator[str]:
    """AUROC, false alarms and strangers found, in percent, mean ± deviation over seeds."""
    sets = list(dict.fromkeys(row.dataset for row in rows))
    yield f"| AUROC; false alarms; found | {' | '.join(sets)} |"
    yield f"|---|{'--:|' * len(sets)}"
    for name in SCORES:
        cells = []
        for data in sets:
            chosen = [row for row in rows if (row.dataset, row.score) == (data, name)]
            parts = (spread(getattr(row, part) for row in chosen) for part in ("auroc", "false_alarms", "found"))
            cells.append("; ".join(str(part) for part in parts))
        yield f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
