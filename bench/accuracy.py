"""All/Old/New of methods over seeds on a folder of classes, beside both kinds of k-means on the same features.

``python -m bench.accuracy pets --known 20 --seeds 0,1,2 --out results/pets-default.csv`` takes the first 20 sub-folders
(sorted) as known, labels half of their images as the paper does, and scores all other images after the last epoch.
Rows that the file already has are not computed again.
"""

import argparse
import csv
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from legogcd.clustering import kmeans, semi_supervised_kmeans, starts_for
from legogcd.collection import find_images, from_folders
from legogcd.evaluation import forgetting, scoring
from legogcd.files import write_text
from legogcd.paper import choose_recipe
from legogcd.training import Job, KeepingRules, discover, prepare
from legogcd.training.display import Quiet

CLUSTERINGS: dict[str, Callable[..., Any]] = {
    "k-means": lambda features, labels, k, seed: kmeans(features, k, seed=seed, n_init=starts_for(len(features), k)),
    "semi-supervised k-means": lambda features, labels, k, seed: semi_supervised_kmeans(
        features, labels, k, seed=seed, n_init=starts_for(len(features), k)
    ),
}
COLUMNS = ("method", "recipe", "epochs", "seed", "all", "old", "new", "forgetting", "seconds")
SCORES = ("all", "old", "new", "forgetting")


def main() -> None:
    options = read_options()
    images = find_images(options.images)
    folders = sorted({name.split("/")[0] for name in images.names if "/" in name})
    collection, truth = from_folders(images, folders[: options.known])
    score = scoring(truth)
    done = read_rows(options.out)
    for seed in options.seeds:
        for method in options.methods:
            trained = method not in CLUSTERINGS
            settings = {"epochs": options.epochs} if options.epochs else {}
            recipe = choose_recipe(options.recipe, method, options.backbone, settings)
            key = {
                "method": method,
                "recipe": options.recipe if trained else "",
                "epochs": str(recipe.epochs if trained else 0),
                "seed": str(seed),
            }
            if any(all(row[name] == value for name, value in key.items()) for row in done):
                continue
            job = Job(
                collection,
                truth.n_classes(collection),
                method=method if trained else "simgcd",
                recipe=recipe,
                backbone=options.backbone,
                keeping=KeepingRules(cache=options.cache),
                seed=seed,
                threads=options.threads,
            )
            began = time.monotonic()
            result = train(job, score) if trained else cluster(job, CLUSTERINGS[method], score)
            done.append({**key, **result, "seconds": f"{time.monotonic() - began:.0f}"})
            write_rows(options.out, done)
            print(", ".join(f"{name} {value}" for name, value in done[-1].items() if value), flush=True)
    print_table(done)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("images", type=Path, help="folder with one sub-folder a class")
    parser.add_argument("--known", type=int, required=True, help="how many sub-folders are known")
    parser.add_argument("--out", type=Path, required=True, help="CSV that collects the rows")
    parser.add_argument("--methods", type=lambda text: text.split(","), default=[*CLUSTERINGS, "simgcd", "legogcd"])
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--backbone", default="efficientnet-lite0")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--threads", type=int)
    return parser.parse_args()


def train(job: Job, score: Callable[..., dict[str, float | None]]) -> dict[str, str]:
    metrics = discover(job, score=score).metrics
    return percents({**metrics[-1], "forgetting": forgetting([entry["old"] for entry in metrics])})


def cluster(job: Job, method: Callable[..., Any], score: Callable[..., dict[str, float | None]]) -> dict[str, str]:
    prepared = prepare(job, Quiet())
    found = method(prepared.directions(), prepared.collection.labels, job.n_classes, job.seed)
    return percents(score(prepared.collection, found.labels))


def percents(scores: dict[str, Any]) -> dict[str, str]:
    return {name: f"{100 * scores[name]:.1f}" if name in scores else "" for name in SCORES}


def read_rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    lines = [",".join(COLUMNS), *(",".join(row[name] for name in COLUMNS) for row in rows)]
    write_text(path, "\n".join(lines) + "\n")


def print_table(rows: list[dict[str, str]]) -> None:
    """Mean ± sample standard deviation over seeds, as Markdown."""
    groups = defaultdict(list)
    for row in rows:
        groups[row["method"], row["recipe"], row["epochs"]].append(row)
    print("\n| method | recipe, epochs | seeds | All | Old | New | forgetting of Old |\n|---|---|---|---|---|---|---|")
    for (method, recipe, epochs), members in groups.items():
        how = f"{recipe}, {epochs}" if recipe else "–"
        cells = [spread([float(row[name]) for row in members if row[name]]) for name in SCORES]
        print(f"| {method} | {how} | {len(members)} | {' | '.join(cells)} |")


def spread(values: list[float]) -> str:
    if not values:
        return "–"
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else f"{values[0]:.1f}"


if __name__ == "__main__":
    main()
