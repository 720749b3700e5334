"""Run what a table asks for: the paper's split, the published recipe, the test images at the end."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.collection import Collection
from legogcd.display import Quiet
from legogcd.evaluation import forgetting, scoring
from legogcd.evaluation.results import Result, ResultBook, settings_text
from legogcd.files import slug
from legogcd.methods import Recipe, check_method
from legogcd.methods.choice import choose_recipe
from legogcd.paper.datasets import dataset_named
from legogcd.paper.reproduce.published_tables import Cell
from legogcd.paper.splits import HeldOut, PaperSplit, paper_split
from legogcd.run import Job, Outcome, ViewStorage, discover, sort_others
from legogcd.run.figure_sample import keep_sample
from legogcd.version import __version__

QUICK_IMAGES, QUICK_PIXELS, QUICK_EPOCHS = 10_000, 128, 20


@dataclass(frozen=True)
class Protocol:
    """How data sets are run. What is not the published protocol is said by ``setup``, which every result carries."""

    root: Path
    backbone: str = "facebook/dino-vitb16"
    image_size: int = 224
    epochs: int | None = None  # None: as published
    most_images: int | None = None  # of a split; None: all
    keeping: ViewStorage = field(default_factory=ViewStorage)
    settings: dict[str, Any] = field(default_factory=dict)
    device: str = "auto"
    precision: str = "auto"
    threads: int | None = None

    @property
    def setup(self) -> str:
        """One line: backbone, input, epochs, views, and which part of the images."""
        views = self.keeping.views
        parts = [
            self.backbone if not Path(self.backbone).exists() else Path(self.backbone).name,
            f"{self.image_size} px",
            f"{self.epochs or 200} epochs",
            "fresh views" if views == "fresh" else f"{views} kept views",
        ]
        if self.most_images is not None:
            parts.append(f"at most {self.most_images:,} images of a split")
        return ", ".join(parts)

    def recipe(self, cell: Cell) -> Recipe:
        """The data set's published recipe with what the cell and the person change."""
        settings = {**cell.settings, **self.settings}
        if self.epochs is not None:
            settings["epochs"] = self.epochs
        return choose_recipe(cell.dataset, cell.method, self.backbone, settings)


def missing_runs(cells: list[Cell], seeds: int, protocol: Protocol, book: ResultBook) -> Iterator[tuple[Cell, int]]:
    """What the book does not have yet, data set by data set, each seed of all methods before the next seed."""
    wanted = [(cell, seed) for cell in cells for seed in cell.seeds or range(seeds)]
    for cell, seed in sorted(wanted, key=lambda pair: (pair[0].dataset, pair[1])):
        if not book.find(
            dataset=cell.dataset,
            method=check_method(cell.method),
            seed=seed,
            setup=protocol.setup,
            settings=settings_text({**cell.settings, **protocol.settings}),
        ):
            yield cell, seed


def run(cell: Cell, seed: int, protocol: Protocol, folder: Path, display: Quiet) -> Result:
    """Train a method on a data set's split and score it there and on the test images; an interrupted run goes on."""
    began = time.monotonic()
    split = _split(cell.dataset, protocol.root, protocol.most_images)
    settings = settings_text({**cell.settings, **protocol.settings})
    method, recipe = check_method(cell.method), protocol.recipe(cell)
    job = Job(
        split.collection,
        n_classes=dataset_named(cell.dataset).n_classes,
        method=method,
        recipe=recipe,
        backbone=protocol.backbone,
        image_size=protocol.image_size,
        keeping=protocol.keeping,
        seed=seed,
        device=protocol.device,
        precision=protocol.precision,
        threads=protocol.threads,
        name=dataset_named(cell.dataset).title,
    )
    display.note(f"{job.name}: {' '.join([method, settings]).strip()}, seed {seed} ({protocol.setup})")
    out = folder / cell.dataset / slug(protocol.setup) / slug(f"{method} {settings} seed {seed}")
    outcome = discover(job, out, score=scoring(split.truth), resume=True, display=display)
    keep_sample(outcome, job.collection, split.truth, out)
    test = _test_scores(outcome, split.test, protocol.keeping, display)
    last = outcome.metrics[-1]
    lost = forgetting([entry["old"] for entry in outcome.metrics if entry.get("old") is not None])
    return Result(
        dataset=cell.dataset,
        method=method,
        seed=seed,
        setup=protocol.setup,
        settings=settings,
        images=len(outcome.discovery.names),
        epochs=recipe.epochs,
        **{name: last[name] for name in ("all", "old", "new", "nmi", "ari")},
        **test,
        forgetting=lost,
        seconds=round(time.monotonic() - began, 1),
        version=__version__,
    )


def stratified(groups: NDArray[np.int64], count: int, seed: int = 0) -> NDArray[np.int64]:
    """Rows of ``count`` members, ascending, with every group's share as it is in the whole.

    >>> stratified(np.array([0, 0, 0, 0, 1, 1]), 3).size
    3
    """
    order = np.random.default_rng(seed).permutation(len(groups))
    sizes = np.bincount(groups)
    rank = np.empty(len(groups))
    for group in range(len(sizes)):
        members = order[groups[order] == group]
        rank[members] = (np.arange(len(members)) + 0.5) / max(len(members), 1)
    return np.sort(np.lexsort((np.arange(len(groups)), rank))[:count])


def cut(split: PaperSplit, most: int) -> PaperSplit:
    """At most so many training and test images, stratified by class and by whether an image is labelled."""
    classes = split.truth.encode(split.collection)
    rows = stratified(2 * classes + split.collection.labelled, most)
    test = split.test.collection
    test_rows = stratified(split.test.truth.encode(test), most)
    held_out = Collection(test.images.subset(test_rows), test.labels[test_rows], test.known)
    notes = split.collection.notes
    training = Collection(split.collection.images.subset(rows), split.collection.labels[rows], test.known, notes)
    return PaperSplit(training, split.truth, HeldOut(held_out, split.test.truth))


@lru_cache(maxsize=1)  # the runs of a data set follow each other
def _split(dataset: str, root: Path, most: int | None) -> PaperSplit:
    whole = paper_split(dataset, root)
    return whole if most is None else cut(whole, most)


def _test_scores(outcome: Outcome, test: HeldOut, keeping: ViewStorage, display: Quiet) -> dict[str, float | None]:
    predicted = sort_others(outcome.model, test.collection.images, keeping, display)
    rows = np.flatnonzero(predicted >= 0)
    readable = Collection(test.collection.images.subset(rows), test.collection.labels[rows], test.collection.known)
    scores = scoring(test.truth)(readable, predicted[rows])
    return {f"test_{name}": scores[name] for name in ("all", "old", "new")}
