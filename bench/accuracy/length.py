"""The paper's claim at the paper's length: ``python -m bench.accuracy.length --data DIR:KNOWN:PIXELS … --out RUNS``.

SimGCD, LegoGCD as its paper says and LegoGCD as released, the published recipe, all of its epochs, on kept views. Every
run leaves a folder; one that was stopped goes on, one that is there is not made again. The table (All, Old and New of
the last epoch, what was forgotten of Old, selected views of a batch) is that of the folders, mean and spread over the
seeds; ``--shown`` trains nothing. The curves: ``legogcd figures paper RUNS/*/*``.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.accuracy.study import DataSet
from legogcd.display import Screen
from legogcd.evaluation import forgetting, scoring, selected_per_batch
from legogcd.run import Job, RunOptions, discover
from legogcd.run.figure_sample import keep_sample
from legogcd.run.folder import PREDICTIONS, read_metrics

METHODS = ("simgcd", "legogcd", "legogcd-released")
COLUMNS = ("All", "Old", "New", "forgotten of Old", "selected, last epoch", "selected, best epoch")


def main() -> None:
    options = read_options()
    for data in options.data:
        for seed in options.seeds:
            for method in options.methods if not options.shown else ():
                run(data, method, seed, options)
    for line in table(options):
        print(line)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy.length", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--data", type=DataSet.read, nargs="+", required=True, metavar="DIR:KNOWN:PIXELS")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--recipe", default="paper")
    parser.add_argument("--backbone", default="efficientnet-lite0")
    parser.add_argument("--epochs", type=int, help="default: those of the recipe, 200")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--shown", action="store_true", help="train nothing")
    return parser.parse_args()


def folder_of(data: DataSet, method: str, seed: int, options: argparse.Namespace) -> Path:
    return Path(options.out) / data.name / f"{method}-{seed}"


def run(data: DataSet, method: str, seed: int, options: argparse.Namespace) -> None:
    out = folder_of(data, method, seed, options)
    if (out / PREDICTIONS).exists():
        return
    collection, truth = data.open()
    chosen = RunOptions(
        n_classes=truth.n_classes(collection),
        method=method,
        recipe=options.recipe,
        epochs=options.epochs,
        seed=seed,
        backbone=options.backbone,
        image_size=data.image_size,
        cache=options.cache,
        threads=options.threads,
    )
    outcome = discover(
        Job(collection, chosen, data.name), out, score=scoring(truth), resume=out.exists(), display=Screen()
    )
    keep_sample(outcome, collection, truth, out)


def table(options: argparse.Namespace) -> Iterator[str]:
    """A row per data set and method: mean ± standard deviation over the seeds."""
    yield f"| data set | method | seeds | {' | '.join(COLUMNS)} |"
    yield f"|---|---|--:|{'--:|' * len(COLUMNS)}"
    for data in options.data:
        for method in options.methods:
            folders = [folder_of(data, method, seed, options) for seed in options.seeds]
            rows = [figures(folder) for folder in folders if (folder / PREDICTIONS).exists()]
            if rows:
                means, spreads = np.mean(rows, axis=0), np.std(rows, axis=0)
                cells = [f"{mean:.1f} ± {spread:.1f}" for mean, spread in zip(means, spreads, strict=True)]
                yield f"| {data.name} | {method} | {len(rows)} | {' | '.join(cells)} |"


def figures(folder: Path) -> list[float]:
    """What `COLUMNS` name, of one run."""
    entries = read_metrics(folder)
    chosen = [selected_per_batch(entry) or 0.0 for entry in entries]
    lost = forgetting([entry["old"] for entry in entries])
    last = entries[-1]
    return [*(100 * last[part] for part in ("all", "old", "new")), 100 * lost, chosen[-1], max(chosen)]


if __name__ == "__main__":
    main()
