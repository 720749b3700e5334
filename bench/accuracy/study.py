"""Compare ways to train on real images, paired by seed: ``python -m bench.accuracy.study GRID --data … --out CSV``.

A data set, DIR:KNOWN, is a folder with one sub-folder per class, of which the first KNOWN (sorted) are known and half
labelled. Every variant of the grid (``grids.py``) is trained with every seed from the same kept views; rows the file
already has are not computed again. The tables (``study_table.py``) compare with the grid's first variant, seed by seed;
``--picture`` draws the same. ``--shown`` trains nothing: the tables are those of the rows that are there. ``--recipe``
takes another recipe for every variant. ``--labelled`` and ``--rarer`` make a small or long-tailed collection.
``--rehearse`` asks what somebody without the truth can ask: half of the known classes play new ones, and only images
that have a label are scored.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.grids import GRIDS, Variant
from bench.accuracy.study_table import SCORES, Study, draw, table
from legogcd.collection import UNLABELLED, Collection, Truth, find_images, from_folders
from legogcd.evaluation import forgetting, scoring
from legogcd.evaluation.results import Result, ResultBook, settings_text
from legogcd.run import Job, RunOptions, discover


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
        labelled = f", {self.labelled} labelled images per class" if self.labelled else ""
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


def main(arguments: Sequence[str] | None = None) -> None:
    options = read_options(arguments)
    variants = chosen_variants(options)
    book = ResultBook(options.out)
    if not options.shown:
        run_missing(book, variants, options)
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


def chosen_variants(options: argparse.Namespace) -> list[Variant]:
    chosen = [variant for variant in GRIDS[options.grid] if not options.only or variant.name in options.only]
    return [replace(variant, recipe=options.recipe) for variant in chosen] if options.recipe else chosen


def run_missing(book: ResultBook, variants: Sequence[Variant], options: argparse.Namespace) -> None:
    for seed in options.seeds:
        for data in options.data:
            for variant in variants:
                key = key_of(variant, data, seed, options)
                if not book.find(**key):
                    result = run(variant, data, key, options)
                    book.add(result)
                    scores = " / ".join(f"{result.percent(part):.1f}" for part in SCORES)
                    print(f"{data.name}, seed {seed}, {variant.name}: {scores} ({result.seconds:.0f} s)", flush=True)


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.accuracy.study", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("grid", choices=sorted(GRIDS))
    parser.add_argument("--data", type=DataSet.read, nargs="+", required=True, metavar="DIR:KNOWN[:PIXELS]")
    parser.add_argument("--out", type=Path, required=True, help="CSV that collects the rows")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, help="of every variant; default: the recipe's")
    parser.add_argument("--recipe", help="of every variant; default: its own")
    parser.add_argument("--shown", action="store_true", help="train nothing, show the rows that are there")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these variants alone")
    parser.add_argument("--labelled", type=int, metavar="N", help="labelled images of a known class; default: half")
    parser.add_argument("--rarer", type=int, default=1, metavar="N", help="keep one in N images of the new classes")
    parser.add_argument("--rehearse", action="store_true", help="half of the known classes play new ones")
    parser.add_argument("--picture", type=Path, metavar="PNG")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args(arguments)
    options.data = [
        replace(data, labelled=options.labelled, rarer=options.rarer, rehearsal=options.rehearse)
        for data in options.data
    ]
    return options


def key_of(variant: Variant, data: DataSet, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    chosen = run_options(variant, data, seed, options)
    backbone, train_blocks, count = (getattr(chosen.protocol, name) for name in ("backbone", "train_blocks", "views"))
    views = "fresh views" if count == "fresh" else f"{count} kept views"
    blocks = "" if train_blocks == 1 else f", {train_blocks} blocks trained"
    effort = "" if variant.effort == "normal" else f", effort {variant.effort}"
    return {
        "dataset": data.name,
        "method": variant.method,
        "seed": seed,
        "setup": f"{backbone}, {data.image_size} px, {views}, recipe {variant.recipe}, {data.setup}{blocks}{effort}",
        "settings": settings_text(variant.settings),
        "epochs": chosen.chosen_recipe().epochs,
    }


def run_options(variant: Variant, data: DataSet, seed: int, options: argparse.Namespace) -> RunOptions:
    """A variant's options, without the number of classes; no label is held out."""
    return RunOptions(
        method=variant.method,
        recipe=variant.recipe,
        settings={"epochs": options.epochs, **variant.settings} if options.epochs else dict(variant.settings),
        held_out=0,
        seed=seed,
        effort=variant.effort,
        backbone=variant.backbone,
        image_size=data.image_size,
        train_blocks=variant.train_blocks,
        views=variant.views,
        cache=options.cache,
        threads=options.threads,
    )


def run(variant: Variant, data: DataSet, key: dict[str, Any], options: argparse.Namespace) -> Result:
    collection, truth = data.open()
    n_classes = truth.n_classes(collection)
    if data.rehearsal:
        collection, truth = rehearse(collection)
    job = Job(collection, run_options(variant, data, key["seed"], options).changed(n_classes=n_classes))
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
