"""What learning from a part costs: ``python -m bench.accuracy.train_on --data DIR:KNOWN[:PIXELS] … --out CSV``.

Runs with ``--train-on``: all labelled images and a share of the others are learned from, and all are sorted. All, Old
and New are those of *all* images without a label, whether they were learned from or not. Rows that the file has are not
computed again; ``--minutes`` begins no further run after so long, and ``--shown`` begins none.
"""

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from bench.accuracy.study import DataSet
from legogcd.collection import Collection, Truth
from legogcd.evaluation import scoring
from legogcd.evaluation.results import spread
from legogcd.run import Job, RunOptions, discover

SHARES = (25, 50, 100)


@dataclass(frozen=True)
class Row:
    """One run: of so many images without a label, ``share`` percent were learned from."""

    dataset: str
    pixels: int
    share: int
    seed: int
    images: int
    learned_from: int
    all: float
    old: float
    new: float

    @property
    def key(self) -> tuple[str, int, int, int]:
        return self.dataset, self.pixels, self.share, self.seed


def main() -> None:
    options = read_options()
    rows = {row.key: row for row in read_rows(options.out)}
    began = time.monotonic()
    for data, seed, share in wanted(options):
        late = options.minutes is not None and time.monotonic() - began > 60 * options.minutes
        if options.shown or late:
            break
        if (data.name, data.image_size, share, seed) not in rows:
            row = measured(data, share, seed, options)
            rows[row.key] = row
            write_rows(options.out, list(rows.values()))
            print(row, flush=True)
    print("\n".join(table(list(rows.values()))))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy.train_on", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--data", type=DataSet.read, nargs="*", default=[], metavar="DIR:KNOWN[:PIXELS]")
    parser.add_argument("--out", type=Path, default=Path("results/train_on.csv"))
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, help="default: those of the recipe")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--shown", action="store_true", help="train nothing")
    return parser.parse_args()


def wanted(options: argparse.Namespace) -> Iterator[tuple[DataSet, int, int]]:
    """Seed by seed, so that a study that was stopped has all shares of the seeds it has."""
    for seed in options.seeds:
        for data in options.data:
            for share in SHARES:
                yield data, seed, share


def measured(data: DataSet, share: int, seed: int, options: argparse.Namespace) -> Row:
    collection, truth = data.open()
    labelled = int(collection.labelled.sum())
    count = labelled + (len(collection) - labelled) * share // 100
    scores = run(collection, truth, count, data, seed, options)
    percent = (round(100 * (scores[part] or 0.0), 2) for part in ("all", "old", "new"))
    return Row(data.name, data.image_size, share, seed, len(collection), count, *percent)


def run(
    collection: Collection, truth: Truth, count: int, data: DataSet, seed: int, options: argparse.Namespace
) -> dict[str, float | None]:
    chosen = RunOptions(
        n_classes=truth.n_classes(collection),
        train_on=count,
        seed=seed,
        epochs=options.epochs,
        image_size=data.image_size,
        cache=options.cache,
        threads=options.threads,
    )
    outcome = discover(Job(collection, chosen, data.name), score=scoring(truth))
    return outcome.scores or {part: outcome.metrics[-1][part] for part in ("all", "old", "new")}


def read_rows(path: Path) -> list[Row]:
    if not path.exists():
        return []
    kinds = {field.name: {"str": str, "int": int, "float": float}[str(field.type.__name__)] for field in fields(Row)}
    with open(path, encoding="utf-8", newline="") as file:
        return [Row(**{name: kinds[name](value) for name, value in row.items()}) for row in csv.DictReader(file)]


def write_rows(path: Path, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in sorted(rows, key=lambda row: row.key))


def table(rows: list[Row]) -> Iterator[str]:
    """Mean ± sample deviation over the seeds."""
    yield "| data set | learned from | of the unlabelled | seeds | All | Old | New |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for dataset, pixels, share in sorted({row.key[:3] for row in rows}):
        same = [row for row in rows if row.key[:3] == (dataset, pixels, share)]
        cells = [str(spread(getattr(row, part) / 100 for row in same)) for part in ("all", "old", "new")]
        name = f"{dataset}, {pixels} px"
        yield (
            f"| {name} | {same[0].learned_from} of {same[0].images} | {share} % | {len(same)} | {' | '.join(cells)} |"
        )


if __name__ == "__main__":
    main()
