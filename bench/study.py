"""Compare ways to train on real images, paired by seed: ``python -m bench.study GRID --data DIR:KNOWN … --out CSV``.

A data set is a folder with one sub-folder a class, of which the first KNOWN (sorted) are known and half labelled. Every
variant of the grid (``bench/grids.py``) is trained with every seed from the same kept views; rows the file already has
are not computed again. The table gives mean ± sample deviation over seeds and the gain over the grid's first variant
with a 95 % interval (Student's t over seeds), by data set and on average over the data sets.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import t as student

from bench.grids import GRIDS, Variant
from legogcd.collection import Collection, Truth, find_images, from_folders
from legogcd.evaluation import forgetting, scoring
from legogcd.evaluation.results import Result, ResultBook, settings_text, spread
from legogcd.paper import choose_recipe
from legogcd.training import Job, KeepingRules, discover

BACKBONE = "efficientnet-lite0"
SCORES = ("all", "old", "new")


class DataSet(NamedTuple):
    """A folder of class folders, some of them known, and the side of the square the backbone sees."""

    folder: Path
    known: int
    image_size: int

    @classmethod
    def read(cls, text: str) -> "DataSet":
        """DIR:KNOWN or DIR:KNOWN:PIXELS."""
        folder, known, *size = text.split(":")
        return cls(Path(folder), int(known), int(size[0]) if size else 224)

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    def open(self, share: float = 0.5) -> tuple[Collection, Truth]:
        images = find_images(self.folder)
        folders = sorted({name.split("/")[0] for name in images.names if "/" in name})
        return from_folders(images, folders[: self.known], share)


def main() -> None:
    options = read_options()
    variants = [variant for variant in GRIDS[options.grid] if not options.only or variant.name in options.only]
    book = ResultBook(options.out)
    for seed in options.seeds:
        for data in options.data:
            collection, truth = data.open(options.labelled_share)
            for variant in variants:
                key = key_of(variant, data, seed, options)
                if not book.find(**key):
                    result = run(variant, data, collection, truth, key, options)
                    book.add(result)
                    scores = " / ".join(f"{result.percent(part):.1f}" for part in SCORES)
                    print(f"{data.name}, seed {seed}, {variant.name}: {scores} ({result.seconds:.0f} s)", flush=True)
    print("\n".join(table(book, variants, options)))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.study", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("grid", choices=sorted(GRIDS))
    parser.add_argument("--data", type=DataSet.read, nargs="+", required=True, metavar="DIR:KNOWN[:PIXELS]")
    parser.add_argument("--out", type=Path, required=True, help="CSV that collects the rows")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, help="of every variant; default: the recipe's")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these variants alone")
    parser.add_argument("--labelled-share", type=float, default=0.5)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--threads", type=int)
    return parser.parse_args()


def key_of(variant: Variant, data: DataSet, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    views = "fresh views" if variant.views == "fresh" else f"{variant.views} kept views"
    share = "" if options.labelled_share == 0.5 else f", {options.labelled_share:g} of the known labelled"
    return {
        "dataset": data.name,
        "method": variant.method,
        "seed": seed,
        "setup": f"{BACKBONE}, {data.image_size} px, {views}, recipe {variant.recipe}, {data.known} known{share}",
        "settings": settings_text(variant.settings),
        "epochs": recipe_of(variant, options).epochs,
    }


def recipe_of(variant: Variant, options: argparse.Namespace) -> Any:
    epochs = {"epochs": options.epochs} if options.epochs else {}
    return choose_recipe(variant.recipe, variant.method, BACKBONE, {**epochs, **variant.settings})


def run(
    variant: Variant,
    data: DataSet,
    collection: Collection,
    truth: Truth,
    key: dict[str, Any],
    options: argparse.Namespace,
) -> Result:
    job = Job(
        collection,
        truth.n_classes(collection),
        method=variant.method,
        recipe=recipe_of(variant, options),
        image_size=data.image_size,
        keeping=KeepingRules(views=variant.views, cache=options.cache),
        seed=key["seed"],
        threads=options.threads,
    )
    began = time.monotonic()
    metrics = discover(job, score=scoring(truth)).metrics
    return Result(
        **key,
        **{part: metrics[-1][part] for part in (*SCORES, "nmi", "ari")},
        forgetting=forgetting([entry["old"] for entry in metrics if entry.get("old") is not None]),
        images=len(collection),
        seconds=round(time.monotonic() - began, 1),
    )


def table(book: ResultBook, variants: Sequence[Variant], options: argparse.Namespace) -> Iterator[str]:
    """Markdown: scores by data set, then each variant's gain on the average of the data sets."""
    rows = {
        (variant.name, data.name, seed): found[0]
        for variant in variants
        for data in options.data
        for seed in options.seeds
        if (found := book.find(**key_of(variant, data, seed, options)))
    }
    for data in options.data:
        yield f"\n**{data.name}**\n"
        yield "| | seeds | All | Old | New | forgetting of Old | gain of All | of Old | of New |"
        yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
        for variant in variants:
            found = [rows[key] for key in rows if key[:2] == (variant.name, data.name)]
            if found:
                scores = [str(spread(getattr(row, part) for row in found) or "–") for part in (*SCORES, "forgetting")]
                gains = [gain(rows, variant, variants[0], [data.name], part) for part in SCORES]
                yield f"| {' | '.join([variant.name, str(len(found)), *scores, *gains])} |"
    yield "\n**average over the data sets**\n"
    yield "| | All | Old | New | gain of All | of Old | of New |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    names = [data.name for data in options.data]
    for variant in variants:
        means = [average(rows, variant, names, part) for part in SCORES]
        gains = [gain(rows, variant, variants[0], names, part) for part in SCORES]
        yield f"| {' | '.join([variant.name, *means, *gains])} |"


Rows = dict[tuple[str, str, int], Result]


def average(rows: Rows, variant: Variant, names: Sequence[str], part: str) -> str:
    by_set = [
        spread(getattr(row, part) for key, row in rows.items() if key[:2] == (variant.name, name)) for name in names
    ]
    if any(found is None for found in by_set):
        return "–"
    return f"{100 * statistics.fmean(found.mean for found in by_set if found):.1f}"


def gain(rows: Rows, variant: Variant, base: Variant, names: Sequence[str], part: str) -> str:
    """Mean over seeds of the gain averaged over data sets, with its 95 % interval."""
    seeds = sorted({seed for name, _, seed in rows if name == variant.name})
    gains = []
    for seed in seeds:
        pairs = [(rows.get((variant.name, name, seed)), rows.get((base.name, name, seed))) for name in names]
        if all(ours and theirs for ours, theirs in pairs):
            gains.append(statistics.fmean(getattr(ours, part) - getattr(theirs, part) for ours, theirs in pairs))
    if variant is base or not gains:
        return ""
    shown = f"{100 * statistics.fmean(gains):+.1f}"
    if len(gains) > 1:
        half = student.ppf(0.975, len(gains) - 1) * statistics.stdev(gains) / len(gains) ** 0.5
        shown += f" ± {100 * half:.1f}"
    return shown.replace("-", "−")


if __name__ == "__main__":
    main()
