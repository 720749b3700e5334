"""Compare ways to train on real images, paired by seed: ``python -m bench.study GRID --data DIR:KNOWN … --out CSV``.

A data set is a folder with one sub-folder a class, of which the first KNOWN (sorted) are known and half labelled. Every
variant of the grid (``bench/grids.py``) is trained with every seed from the same kept views; rows the file already has
are not computed again. The tables (``bench/study_table.py``) compare with the grid's first variant, seed by seed;
``--picture`` draws the same. ``--labelled`` and ``--rarer`` make a small or long-tailed collection of a data set.
``--rehearse`` asks what somebody without the truth can ask: half of the known classes play new ones, and only images
that have a label are scored.
"""

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.grids import GRIDS, Variant
from bench.study_table import SCORES, Study, draw, table
from legogcd.collection import UNLABELLED, Collection, Truth, find_images, from_folders
from legogcd.evaluation import forgetting, scoring
from legogcd.evaluation.results import Result, ResultBook, settings_text
from legogcd.methods import choose_recipe
from legogcd.run import Job, ViewStorage, discover

BACKBONE = "efficientnet-lite0"


@dataclass(frozen=True)
class DataSet:
    """A folder of class folders, some of them known, and the side of the square the backbone sees."""

    folder: Path
    known: int
    image_size: int = 224
    labelled: int | None = None  # so many images of each known class instead of half of all
    rarer: int = 1  # of a new class, one image in so many is there
    rehearsal: bool = False  # half of the known classes play new ones

    @classmethod
    def read(cls, text: str) -> "DataSet":
        """DIR:KNOWN or DIR:KNOWN:PIXELS."""
        folder, known, *size = text.split(":")
        return cls(Path(folder), int(known), *map(int, size))

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def setup(self) -> str:
        labelled = f", {self.labelled} labelled images a class" if self.labelled else ""
        rarer = f", new classes {self.rarer} times rarer" if self.rarer > 1 else ""
        rehearsal = ", rehearsal" if self.rehearsal else ""
        return f"{self.known} known{labelled}{rarer}{rehearsal}"

    def open(self) -> tuple[Collection, Truth]:
        images = find_images(self.folder)
        folders = sorted({name.split("/")[0] for name in images.names if "/" in name})
        collection, truth = from_folders(images, folders[: self.known])
        random = np.random.default_rng(0)  # whatever the seed of the training: the same images
        if self.labelled:
            labels = np.full_like(collection.labels, UNLABELLED)
            for known in range(collection.n_known):
                labels[random.permutation(np.flatnonzero(collection.labels == known))[: self.labelled]] = known
            collection = replace(collection, labels=labels)
        if self.rarer > 1:
            classes = truth.encode(collection)
            rows = [random.permutation(np.flatnonzero(classes == number)) for number in np.unique(classes)]
            new = [found[: -(-len(found) // self.rarer)] for found in rows[collection.n_known :]]
            collection = collection.keep(np.sort(np.concatenate([*rows[: collection.n_known], *new])))
        return collection, truth


def rehearse(collection: Collection) -> tuple[Collection, Truth]:
    """The collection with fewer labels, and those taken away as the truth: all labels of the later half of the known
    classes, and every other one of the rest."""
    labels = np.full_like(collection.labels, UNLABELLED)
    shown = -(-collection.n_known // 2)
    for known in range(shown):
        kept = np.flatnonzero(collection.labels == known)[::2]
        labels[kept] = known
    hidden = np.flatnonzero(collection.labelled & (labels == UNLABELLED))
    truth = {collection.images.names[row]: collection.known[collection.labels[row]] for row in hidden}
    return replace(collection, labels=labels, known=collection.known[:shown]), Truth(truth)


def main() -> None:
    options = read_options()
    variants = [variant for variant in GRIDS[options.grid] if not options.only or variant.name in options.only]
    book = ResultBook(options.out)
    for seed in options.seeds:
        for data in options.data:
            for variant in variants:
                key = key_of(variant, data, seed, options)
                if not book.find(**key):
                    result = run(variant, data, key, options)
                    book.add(result)
                    scores = " / ".join(f"{result.percent(part):.1f}" for part in SCORES)
                    print(f"{data.name}, seed {seed}, {variant.name}: {scores} ({result.seconds:.0f} s)", flush=True)
    rows = {
        (variant.name, data.name, seed): found[0]
        for variant in variants
        for data in options.data
        for seed in options.seeds
        if (found := book.find(**key_of(variant, data, seed, options)))
    }
    study = Study(rows, [variant.name for variant in variants], [data.name for data in options.data])
    print("\n".join(table(study)))
    if options.picture:
        draw(study, options.picture)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.study", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("grid", choices=sorted(GRIDS))
    parser.add_argument("--data", type=DataSet.read, nargs="+", required=True, metavar="DIR:KNOWN[:PIXELS]")
    parser.add_argument("--out", type=Path, required=True, help="CSV that collects the rows")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, help="of every variant; default: the recipe's")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these variants alone")
    parser.add_argument("--labelled", type=int, metavar="N", help="labelled images of a known class; default: half")
    parser.add_argument("--rarer", type=int, default=1, metavar="N", help="keep one in N images of the new classes")
    parser.add_argument("--rehearse", action="store_true", help="half of the known classes play new ones")
    parser.add_argument("--picture", type=Path, metavar="PNG")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    options.data = [
        replace(data, labelled=options.labelled, rarer=options.rarer, rehearsal=options.rehearse)
        for data in options.data
    ]
    return options


def key_of(variant: Variant, data: DataSet, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    views = "fresh views" if variant.views == "fresh" else f"{variant.views} kept views"
    blocks = "" if variant.train_blocks == 1 else f", {variant.train_blocks} blocks trained"
    return {
        "dataset": data.name,
        "method": variant.method,
        "seed": seed,
        "setup": f"{BACKBONE}, {data.image_size} px, {views}, recipe {variant.recipe}, {data.setup}{blocks}",
        "settings": settings_text(variant.settings),
        "epochs": recipe_of(variant, options).epochs,
    }


def recipe_of(variant: Variant, options: argparse.Namespace) -> Any:
    epochs = {"epochs": options.epochs} if options.epochs else {}
    return choose_recipe(variant.recipe, variant.method, BACKBONE, {**epochs, **variant.settings})


def run(variant: Variant, data: DataSet, key: dict[str, Any], options: argparse.Namespace) -> Result:
    collection, truth = data.open()
    n_classes = truth.n_classes(collection)
    if data.rehearsal:
        collection, truth = rehearse(collection)
    job = Job(
        collection,
        n_classes,
        method=variant.method,
        recipe=recipe_of(variant, options),
        image_size=data.image_size,
        train_blocks=variant.train_blocks,
        keeping=ViewStorage(views=variant.views, cache=options.cache),
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


if __name__ == "__main__":
    main()
