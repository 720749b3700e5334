"""Images of no category of a run: ``python -m bench.accuracy.strangers --data DIR:KNOWN … --out CSV``.

Of each data set half of the new classes, another half for each seed, and a quarter of the other unlabelled images are
taken out before a run. The classes play strangers, the images those that belong; both are scored by the run as
`legogcd predict` would. Every score calls a stranger what is beyond 95 % of the run's own unlabelled images, each
without itself in what it is held against, so that nothing is learned from strangers; what the same images as they are
would have given stands beside it. The truth scores alone. Rows that the file has are not computed again, nor are runs
whose outcome is in ``--work``.
"""

import argparse
import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
import torch
from scipy.special import logsumexp, softmax
from sklearn.metrics import roc_auc_score

from bench.accuracy.study import DataSet
from legogcd.clustering import directions
from legogcd.display import Quiet
from legogcd.evaluation.results import spread
from legogcd.evaluation.strangers import FALSE_ALARMS, Nearness, nearest_distance
from legogcd.methods.legogcd_plus.whitening import around_class_means, equalizing, principal_axes
from legogcd.methods.parametric import Parametric
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
    false_alarms_plain: float  # with the run's own images as they are
    belong: int
    strangers: int


@dataclass(frozen=True, eq=False)
class Trial:
    """A finished run, with features of all images [N, D], those of the run and others alike."""

    trained: np.ndarray
    logits: np.ndarray  # [N, K]
    category: np.ndarray  # [N], -1 for images that were not in the run
    learned: np.ndarray  # [N] bool: learned from
    usual: np.ndarray  # [N] bool: learned from, without a label
    temperature: np.ndarray  # at which logits become calibrated probabilities

    @property
    def n_classes(self) -> int:
        return int(self.logits.shape[1])

    def without_themselves(self) -> np.ndarray:
        """The logits [N, K] of all images; those that were learned from have no part in their own prototype."""
        rows = np.flatnonzero(self.learned)
        own = self.category[rows]
        near = Nearness(own, self.logits[rows, own], np.zeros(len(rows))).without_themselves()
        logits = self.logits.copy()
        logits[rows, own] = near.to_own
        return logits


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
    parser.add_argument("--work", type=Path, help="folder where finished runs are remembered")
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
    kept = None if options.work is None else options.work / f"{data.name}-{data.image_size}-{seed}.npz"
    trial = remembered(kept) if kept else None
    if trial is None:
        everything = prepare(Job(collection, chosen), Quiet())  # encoded once, whatever is taken out
        trial = run_without(everything, ~stranger & ~belongs)
        remember(kept, trial)
    rows = []
    for name, score, plain in scores(trial):
        usual = threshold(score[trial.usual])
        told = np.concatenate([np.zeros(belongs.sum()), np.ones(stranger.sum())])
        rows.append(
            Row(
                data.name,
                seed,
                name,
                round(float(roc_auc_score(told, np.concatenate([score[belongs], score[stranger]]))), 4),
                round(float((score[belongs] > usual).mean()), 4),
                round(float((score[stranger] > usual).mean()), 4),
                round(float((plain[belongs] > threshold(plain[trial.usual])).mean()), 4),
                int(belongs.sum()),
                int(stranger.sum()),
            )
        )
        print(rows[-1], flush=True)
    return rows


def threshold(usual: np.ndarray) -> float:
    """What 5 % of images like these lie beyond: the conformal quantile."""
    return float(np.quantile(usual, min(1, (1 - FALSE_ALARMS) * (len(usual) + 1) / len(usual)), method="higher"))


def remembered(path: Path) -> Trial | None:
    if not path.exists():
        return None
    with np.load(path) as there:
        return Trial(**{field.name: there[field.name] for field in fields(Trial)})


def remember(path: Path | None, trial: Trial) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **{field.name: getattr(trial, field.name) for field in fields(Trial)})


def run_without(everything: Prepared, kept: np.ndarray) -> Trial:
    """A run of some images, and what it makes of all."""
    rows = np.flatnonzero(kept)
    collection = everything.collection.keep(rows)
    job = replace(everything.job, collection=collection)
    prepared = replace(everything, job=job, collection=collection, rows=torch.from_numpy(rows))
    prepared.find_copies(Quiet())
    outcome = computed(prepared)
    method = outcome.model.method.eval()
    trained = everything.learner(method).features(everything.views)
    with torch.no_grad():
        logits = method.logits(torch.from_numpy(trained)).numpy()
    category, learned, usual = np.full(len(kept), -1), np.zeros(len(kept), bool), np.zeros(len(kept), bool)
    category[rows] = np.where(prepared.labels >= 0, prepared.labels, logits[rows].argmax(axis=1))
    learned[rows[prepared.copies.distinct]] = True
    usual[rows] = learned[rows] & (prepared.labels < 0)
    assert isinstance(method, Parametric)
    temperature = method.recipe.student_temperature * outcome.model.calibration.temperature
    return Trial(trained, logits, category, learned, usual, np.array(temperature))


def scores(trial: Trial) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Every score of all images [N], higher is stranger, by the names in ``SCORES``: with images that were learned from
    held against the others alone, and as they are."""
    units, along = directions(trial.trained), whitened(trial.trained, trial)
    for name in SCORES:
        for without in (True, False):
            logits = trial.without_themselves() if without else trial.logits
            if name == "max-probability":
                score = 1 - softmax(logits / trial.temperature, axis=1).max(axis=1)
            elif name == "nearest prototype":
                score = nearest_distance(logits)
            elif name == "energy":
                score = -TEMPERATURE * logsumexp(logits / TEMPERATURE, axis=1)
            elif name == "nearest mean":
                score = far_from_means(units, trial, without)
            elif name == "Mahalanobis":
                score = mahalanobis(along, trial, without)
            else:
                score = far_from_neighbours(units, trial, without)
            if without:
                held_apart = score
        yield name, held_apart, score


def whitened(features: np.ndarray, trial: Trial) -> np.ndarray:
    """Along their principal axes, with as much spread around the categories' means in every direction."""
    units, inside = directions(features), np.flatnonzero(trial.learned)
    origin = units[inside].mean(axis=0, dtype=np.float64)
    along = (units - origin) @ principal_axes(units[inside], origin)[:, :WHITENED]
    return np.asarray(along @ equalizing(around_class_means(along[inside], trial.category[inside])))


def sums_of(points: np.ndarray, trial: Trial) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sum [K, d] and number [K] of each category's images, and the rows that are in one."""
    inside = np.flatnonzero(trial.learned)
    sums = np.zeros((trial.n_classes, points.shape[1]))
    np.add.at(sums, trial.category[inside], points[inside])
    return sums, np.bincount(trial.category[inside], minlength=trial.n_classes), inside


def far_from_means(units: np.ndarray, trial: Trial, without: bool) -> np.ndarray:
    sums, sizes, inside = sums_of(units, trial)
    cosine = units @ directions(sums).T
    cosine[:, sizes == 0] = -1
    if without:
        own = trial.category[inside]
        left = np.einsum("nd,nd->n", units[inside], directions(sums[own] - units[inside]))
        cosine[inside, own] = np.where(sizes[own] > 1, left, -1)
    return np.asarray(1 - cosine.max(axis=1))


def mahalanobis(points: np.ndarray, trial: Trial, without: bool) -> np.ndarray:
    sums, sizes, inside = sums_of(points, trial)
    means = sums / np.maximum(sizes, 1)[:, None]
    squared = (points**2).sum(axis=1)[:, None] - 2 * points @ means.T + (means**2).sum(axis=1)
    squared[:, sizes == 0] = np.inf
    if without:
        own = trial.category[inside]
        scale = (sizes[own] / np.maximum(sizes[own] - 1, 1)) ** 2  # of the distance to the mean of the others
        squared[inside, own] = np.where(sizes[own] > 1, squared[inside, own] * scale, np.inf)
    return np.asarray(squared.min(axis=1))


def far_from_neighbours(units: np.ndarray, trial: Trial, without: bool, count: int = 5) -> np.ndarray:
    inside = np.flatnonzero(trial.learned)
    cosine = units @ units[inside].T
    if without:
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
    """AUROC, false alarms (in parentheses: with images as they are), strangers found; percent, mean ± deviation."""
    sets = list(dict.fromkeys(row.dataset for row in rows))
    yield f"| AUROC; false alarms; found | {' | '.join(sets)} |"
    yield f"|---|{'--:|' * len(sets)}"
    for name in SCORES:
        cells = []
        for data in sets:
            chosen = [row for row in rows if (row.dataset, row.score) == (data, name)]
            auroc, alarms, plain, share = (
                spread(getattr(row, part) for row in chosen)
                for part in ("auroc", "false_alarms", "false_alarms_plain", "found")
            )
            cells.append(f"{auroc}; {alarms} ({plain}); {share}")
        yield f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
