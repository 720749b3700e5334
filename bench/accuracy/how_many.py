"""How far estimates of the number of classes are off, by approach, on folders of classes with several Old/New splits.

``python -m bench.accuracy.how_many pets=DIR clothing=DIR digits --out results/how_many.csv``; the digits are
scikit-learn's. Truth is used for the score alone. Rows that the file already has are not computed again.
"""

import argparse
import csv
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from legogcd.clustering.how_many.choice import Estimate, estimate_classes
from legogcd.collection import find_images, from_folders, paper_draw
from legogcd.demo import DIGITS, OPTIONS, write_digits
from legogcd.display import Quiet
from legogcd.files import write_text
from legogcd.run import Job, RunOptions, prepare

COLUMNS = ("data", "case", "known", "seed", "approach", "classes", "n_known", "estimate", "low", "high", "seconds")
APPROACHES = ("gcd", "gcd below 100", "silhouette", "neighbours", "combined")
USUAL = "half labelled"  # half of the known classes' images, all classes as large as they come


class Split(NamedTuple):
    """Which classes are known, and what is done to the collection."""

    case: str
    known: str
    seed: int
    share: float = 0.5


SPLITS = (
    Split(USUAL, "first half", 0),
    Split(USUAL, "last half", 0),
    *(Split(USUAL, known, seed) for known in ("half", "third", "four fifths") for seed in range(3)),
    Split("all known", "all", 0),
    *(Split("a tenth labelled", "half", seed, share=0.1) for seed in range(2)),
    *(Split("new classes half as large", "half", seed) for seed in range(2)),
    *(Split("known classes half as large", "half", seed) for seed in range(2)),
    *(Split("long tail", "half", seed) for seed in range(2)),
)


def main() -> None:
    options = read_options()
    rows = read_rows(options.out)
    for data in options.data:
        name, _, folder = data.partition("=")
        missing = [split for split in SPLITS if not has(rows, name, split)]
        if missing:
            features, truth = read_features(folder, options)
            for split in missing:
                for row in measure(features, truth, split):
                    rows.append({"data": name, **row})
                    print(", ".join(rows[-1].values()), flush=True)
                write_rows(options.out, rows)
    print_tables(rows)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy.how_many", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("data", nargs="+", help="NAME=FOLDER with one sub-folder per class, or digits")
    parser.add_argument("--out", type=Path, required=True, help="CSV that collects the rows")
    parser.add_argument("--backbone", default="efficientnet-lite0")
    parser.add_argument("--cache", type=Path)
    return parser.parse_args()


def read_features(folder: str, options: argparse.Namespace) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Directions [N, D] and true classes [N] of the images in a folder of classes, or of the digits."""
    with tempfile.TemporaryDirectory() as temporary:
        images = find_images(Path(folder) if folder else write_digits(Path(temporary), DIGITS))
        classes = sorted({name.split("/")[0] for name in images.names})
        collection, _ = from_folders(images, classes)
        chosen = RunOptions(n_classes=len(classes), backbone=options.backbone, held_out=0, cache=options.cache)
        prepared = prepare(
            Job(collection, chosen if folder else chosen.changed(image_size=OPTIONS.image_size)), Quiet()
        )
        truth = [classes.index(name.split("/")[0]) for name in prepared.collection.images.names]
        return prepared.directions(), np.array(truth)


def measure(features: NDArray[np.float32], truth: NDArray[np.int64], split: Split) -> Iterator[dict[str, str]]:
    rows, labels = draw_split(truth, split)
    features, n_classes = features[rows], len(np.unique(truth[rows]))
    for approach, found, seconds in estimates(features, labels, split.seed):
        yield {
            "case": split.case,
            "known": split.known,
            "seed": str(split.seed),
            "approach": approach,
            "classes": str(n_classes),
            "n_known": str(labels.max() + 1),
            "estimate": str(found.classes),
            "low": str(found.low),
            "high": str(found.high),
            "seconds": seconds,
        }


def estimates(
    features: NDArray[np.float32], labels: NDArray[np.int64], seed: int
) -> Iterator[tuple[str, Estimate, str]]:
    """Every approach's estimate and its seconds; those of a combination's parts are the combination's."""
    for name, approach, most in (("gcd", "gcd", None), ("gcd below 100", "gcd", 100), ("combined", "combined", None)):
        began = time.monotonic()
        found = estimate_classes(features, labels, approach=approach, most=most, seed=seed)
        seconds = f"{time.monotonic() - began:.1f}"
        yield name, found, seconds
        yield from ((part.approach, part, seconds) for part in found.parts)


def draw_split(truth: NDArray[np.int64], split: Split) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows [M] of a split's images, and their labels [M], -1 where unlabelled."""
    n_classes = int(truth.max()) + 1
    known = known_classes(n_classes, split)
    rows = np.sort(np.concatenate(list(kept_rows(truth, known, split))))
    old = np.flatnonzero(np.isin(truth[rows], known))
    drawn = old[paper_draw(len(old), split.share)]
    labels = np.full(len(rows), -1, dtype=np.int64)
    labels[drawn] = np.unique(truth[rows][drawn], return_inverse=True)[1]
    return rows, labels


def known_classes(n_classes: int, split: Split) -> NDArray[np.int64]:
    counts = {"third": n_classes / 3, "four fifths": 0.8 * n_classes, "all": n_classes}
    count = round(counts.get(split.known, n_classes // 2))
    if split.known == "first half":
        return np.arange(count)
    if split.known == "last half":
        return np.arange(n_classes - count, n_classes)
    return np.random.default_rng(split.seed).permutation(n_classes)[:count]


def kept_rows(truth: NDArray[np.int64], known: NDArray[np.int64], split: Split) -> Iterator[NDArray[np.int64]]:
    """The rows of each class that stay."""
    random = np.random.default_rng(split.seed)
    classes = np.arange(int(truth.max()) + 1)
    kept = {
        "new classes half as large": np.where(np.isin(classes, known), 1, 0.5),
        "known classes half as large": np.where(np.isin(classes, known), 0.5, 1),
        "long tail": 6 ** (-random.permutation(len(classes)) / (len(classes) - 1)),  # the smallest has a sixth
    }.get(split.case, np.ones(len(classes)))
    for number in classes:
        rows = np.flatnonzero(truth == number)
        yield random.permutation(rows)[: max(2, round(kept[number] * len(rows)))]


def has(rows: list[dict[str, str]], data: str, split: Split) -> bool:
    key = (data, split.case, split.known, str(split.seed))
    return any(key == tuple(row[name] for name in ("data", "case", "known", "seed")) for row in rows)


def read_rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    lines = [",".join(COLUMNS), *(",".join(row[name] for name in COLUMNS) for row in rows)]
    write_text(path, "\n".join(lines) + "\n")


def print_tables(rows: list[dict[str, str]]) -> None:
    usual = [row for row in rows if row["case"] == USUAL]
    print("\nHalf of the known classes' images labelled, by data set:")
    print_table(usual, "data")
    print("\nOther cases, all data sets:")
    print_table([row for row in rows if row["case"] != USUAL], "case")


def print_table(rows: list[dict[str, str]], by: str) -> None:
    """Mean |K̂ − K|/K, median (K̂ − K)/K, how often the interval holds K, and its median width (high/low); Markdown."""
    columns = list(dict.fromkeys(row[by] for row in rows))
    groups = defaultdict(list)
    for row in rows:
        groups[row["approach"], row[by]].append(row)
    print(f"| approach | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for approach in APPROACHES:
        print(f"| {approach} | {' | '.join(cell(groups[approach, column]) for column in columns)} |")


def cell(rows: list[dict[str, str]]) -> str:
    if not rows:
        return "–"
    table = np.array([[float(row[name]) for name in ("classes", "estimate", "low", "high")] for row in rows])
    truth, estimate, low, high = table.T
    off = estimate / truth - 1
    held = int(((low <= truth) & (truth <= high)).sum())
    error = f"{100 * np.abs(off).mean():.0f} % ({100 * np.median(off):+.0f} %)"
    return f"{error}, {held}/{len(rows)}, ×{np.median(high / low):.1f}"


if __name__ == "__main__":
    main()
