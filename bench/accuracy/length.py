"""The paper's claim at the paper's length: ``python -m bench.accuracy.length --data DIR:KNOWN:PIXELS … --out RUNS``.

SimGCD, LegoGCD as its paper says and LegoGCD as released, the published recipe, all of its epochs, on kept views. Every
run leaves a folder; one that was stopped goes on. Every epoch of a finished run is a row of ``--csv``; a run that has
rows is not made again. The table (All, Old and New of the last epoch, what was forgotten of Old, selected views of a
batch) is that of the rows, mean and spread over the seeds, and so are the curves that ``--figures`` draws: Old by epoch
of every data set, the selected samples, and All, Old and New of each. ``--minutes`` begins no further run after so
long, ``--shown`` begins none.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bench.accuracy.study import DataSet
from legogcd.display import Screen
from legogcd.evaluation import forgetting, scoring, selected_per_batch
from legogcd.evaluation.results import spread
from legogcd.files import write_text
from legogcd.paper.figures.panels import draw_old_sheet, draw_selected_sheet, draw_side_by_side, pair_of
from legogcd.paper.figures.runs import Run, data_sets
from legogcd.paper.figures.style import PARTS, styled
from legogcd.run import Job, RunOptions, discover
from legogcd.run.effort import BUILT_IN
from legogcd.run.figure_sample import keep_sample
from legogcd.run.folder import PREDICTIONS, read_metrics

METHODS = ("simgcd", "legogcd", "legogcd-released")
KEY = ("dataset", "pixels", "backbone", "recipe", "method", "seed")
RECIPE = "paper"
COLUMNS = ("All", "Old", "New", "forgotten of Old", "selected, last epoch", "selected, best epoch")


def main(arguments: Sequence[str] | None = None) -> None:
    options = read_options(arguments)
    began = time.monotonic()
    for data, seed, method in wanted(options):
        if options.minutes is not None and time.monotonic() - began > 60 * options.minutes:
            break
        run(data, method, seed, options)
    if options.csv.exists():
        rows = pd.read_csv(options.csv)
        print("\n".join(table(rows)))
        for path in draw(rows, options.figures) if options.figures is not None else ():
            print(path)


def wanted(options: argparse.Namespace) -> Iterator[tuple[DataSet, int, str]]:
    """Runs without rows, seed by seed: a study that was stopped has all methods of the seeds it has."""
    have = pd.read_csv(options.csv) if options.csv.exists() else pd.DataFrame(columns=list(KEY))
    made = set(have[list(KEY)].itertuples(index=False, name=None))
    for seed in options.seeds if not options.shown else ():
        for data in options.data:
            for method in options.methods:
                if key_of(data, method, seed, options) not in made:
                    yield data, seed, method


def key_of(data: DataSet, method: str, seed: int, options: argparse.Namespace) -> tuple[str | int, ...]:
    """What `KEY` names, of one run; a backbone that is a folder goes by its name."""
    return data.name, data.image_size, Path(options.backbone).name, options.recipe, method, seed


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy.length", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--data", type=DataSet.read, nargs="*", default=[], metavar="DIR:KNOWN:PIXELS")
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder of the runs")
    parser.add_argument("--csv", type=Path, default=Path("results/length.csv"), help="a row per epoch of finished runs")
    parser.add_argument("--figures", type=Path, help="folder for the curves of all rows")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--recipe", default=RECIPE)
    parser.add_argument("--backbone", default=BUILT_IN)
    parser.add_argument("--epochs", type=int, help="default: those of the recipe, 200")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--shown", action="store_true", help="train nothing")
    return parser.parse_args(arguments)


def run(data: DataSet, method: str, seed: int, options: argparse.Namespace) -> None:
    key = dict(zip(KEY, key_of(data, method, seed, options), strict=True))
    recipe = "" if options.recipe == RECIPE else f"-{options.recipe}"
    out = Path(options.out) / f"{data.name}-{key['backbone']}{recipe}" / f"{method}-{seed}"
    if not (out / PREDICTIONS).exists():
        train(data, method, seed, out, options)
    rows = pd.DataFrame(
        {
            **key,
            **{name: entry[name] for name in ("epoch", "all", "old", "new")},
            "selected": selected_per_batch(entry) or 0.0,
        }
        for entry in read_metrics(out)
    )
    options.csv.parent.mkdir(parents=True, exist_ok=True)
    before = options.csv.read_text() if options.csv.exists() else ""
    write_text(options.csv, before + rows.to_csv(header=not before, index=False, float_format="%.6g"))


def train(data: DataSet, method: str, seed: int, out: Path, options: argparse.Namespace) -> None:
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


def table(rows: pd.DataFrame) -> Iterator[str]:
    """A row per data set, recipe and method: mean ± sample deviation over the seeds."""
    yield f"| data set | recipe | method | seeds | {' | '.join(COLUMNS)} |"
    yield f"|---|---|---|--:|{'--:|' * len(COLUMNS)}"
    of_a_row = [name for name in KEY if name != "seed"]
    for (dataset, pixels, backbone, recipe, method), some in rows.groupby(of_a_row, sort=False):
        runs = [figures(one) for _, one in some.groupby("seed")]
        cells = [str(spread(column)) for column in zip(*runs, strict=True)]
        yield f"| {dataset}, {backbone}, {pixels} px | {recipe} | {method} | {len(runs)} | {' | '.join(cells)} |"


def figures(epochs: pd.DataFrame) -> list[float]:
    """What `COLUMNS` name, of one run; a selected view counts as a hundredth, as percent are shown."""
    epochs = epochs.sort_values("epoch")
    last, selected = epochs.iloc[-1], epochs["selected"]
    accuracies = [float(last[part]) for part in ("all", "old", "new")]
    counts = [float(selected.iloc[-1]) / 100, float(selected.max()) / 100]
    return [*accuracies, forgetting(list(epochs["old"])), *counts]


def draw(rows: pd.DataFrame, out: Path) -> list[Path]:
    """The paper's sheets of curves: a thin line a seed, a thick one for their mean."""
    several = rows.groupby("dataset")["recipe"].transform("nunique") > 1
    named = rows.assign(recipe=rows["recipe"].where(several, ""))  # a data set's only recipe need not be told
    datasets = data_sets(
        [run_of(dict(zip(KEY, key, strict=True)), some) for key, some in named.groupby(list(KEY), sort=False)]
    )
    pairs = [pair for dataset in datasets if (pair := pair_of(dataset, dataset.runs)) is not None]
    out.mkdir(parents=True, exist_ok=True)
    with styled():
        written = draw_old_sheet(datasets, out)
        written += draw_selected_sheet(pairs, out) if pairs else []
        for pair in pairs:
            written += draw_side_by_side(pair, out)
    return written


def run_of(key: Mapping[str, Any], epochs: pd.DataFrame) -> Run:
    """A run's rows as figures take them; runs of one data set with another backbone or recipe are another panel."""
    backbone = "" if key["backbone"] == BUILT_IN else key["backbone"]
    dataset = ", ".join(part for part in (key["dataset"], backbone, key["recipe"]) if part)
    epochs = epochs.sort_values("epoch")
    accuracy = {part: 100 * epochs[part].to_numpy(float) for part in PARTS}
    curves = (epochs["epoch"].to_numpy(float), accuracy, epochs["selected"].to_numpy(float))
    name = f"{key['method']}-{key['seed']}"
    return Run(Path(name), name, dataset, key["method"], key["seed"], (), {"image_size": key["pixels"]}, *curves)


if __name__ == "__main__":
    main()
