"""Run what a table asks for: the paper's split, the published recipe, the test images at the end."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.display import Quiet
from legogcd.evaluation import scoring
from legogcd.evaluation.results import Result, ResultBook, settings_text
from legogcd.files import slug
from legogcd.methods import check_method
from legogcd.paper.datasets import dataset_named
from legogcd.paper.reproduce.published_tables import Cell
from legogcd.paper.splits import HeldOut, PaperSplit, paper_split
from legogcd.run import Job, Outcome, RunOptions
from legogcd.run.predict import classes_of
from legogcd.run.scored import scored_run

PUBLISHED = RunOptions(recipe="paper", backbone="facebook/dino-vitb16")  # the recipe brings the protocol
QUICK = PUBLISHED.changed(backbone="efficientnet-lite0", image_size=128, epochs=20)
QUICK_IMAGES = 10_000


@dataclass(frozen=True)
class Protocol:
    """How data sets are run. What is not the published protocol is said by ``setup``, which every result carries."""

    root: Path
    options: RunOptions = PUBLISHED
    most_images: int | None = None  # of a split; None: all

    @property
    def setup(self) -> str:
        """One line: backbone, input, epochs, views, and which part of the images."""
        options = self.options
        parts = [
            options.backbone if not Path(options.backbone).exists() else Path(options.backbone).name,
            f"{options.image_size} px",
            f"{options.epochs or 200} epochs",
            "fresh views" if options.views == "fresh" else f"{options.views} kept views",
        ]
        protocol, published = options.protocol, PUBLISHED.protocol
        parts += [f"{name} {value}" for name, value in protocol._asdict().items() if value != getattr(published, name)]
        if self.most_images is not None:
            parts.append(f"at most {self.most_images:,} images of a split")
        return ", ".join(parts)

    def settings(self, cell: Cell) -> dict[str, Any]:
        """What the cell and the person change of the published recipe; the number of epochs is told apart."""
        return {**cell.settings, **self.options.settings}

    def options_of(self, cell: Cell, seed: int = 0) -> RunOptions:
        """The data set's published recipe with what the cell and the person change."""
        dataset = dataset_named(cell.dataset)
        return self.options.changed(
            n_classes=dataset.n_classes,
            method=check_method(cell.method),
            recipe=dataset.recipe or cell.dataset,
            settings=self.settings(cell),
            seed=seed,
        )


def missing_runs(cells: list[Cell], seeds: int, protocol: Protocol, book: ResultBook) -> Iterator[tuple[Cell, int]]:
    """What the book does not have yet, data set by data set, each seed of all methods before the next seed."""
    wanted = [(cell, seed) for cell in cells for seed in cell.seeds or range(seeds)]
    for cell, seed in sorted(wanted, key=lambda pair: (pair[0].dataset, pair[1])):
        if not book.find(
            dataset=cell.dataset,
            method=check_method(cell.method),
            seed=seed,
            setup=protocol.setup,
            settings=settings_text(protocol.settings(cell)),
        ):
            yield cell, seed


def run(cell: Cell, seed: int, protocol: Protocol, folder: Path, display: Quiet) -> Result:
    """Train a method on a data set's split and score it there and on the test images; an interrupted run goes on."""
    began = time.monotonic()
    split = _split(cell.dataset, protocol.root, protocol.most_images)
    job = Job(split.collection, protocol.options_of(cell, seed), dataset_named(cell.dataset).title)
    settings = settings_text(protocol.settings(cell))
    display.note(f"{job.name}: {' '.join([job.method, settings]).strip()}, seed {seed} ({protocol.setup})")
    out = folder / cell.dataset / slug(protocol.setup) / slug(f"{job.method} {settings} seed {seed}")
    key = {
        "dataset": cell.dataset,
        "method": job.method,
        "seed": seed,
        "setup": protocol.setup,
        "settings": settings,
        "epochs": job.recipe.epochs,
    }
    result, outcome = scored_run(job, split.truth, key, out, display)
    test = _test_scores(outcome, split.test, job.options, display)
    return result.model_copy(update={**test, "seconds": round(time.monotonic() - began, 1)})


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
    held_out = HeldOut(test.keep(test_rows), split.test.truth)
    return PaperSplit(split.collection.keep(rows), split.truth, held_out)


@lru_cache(maxsize=1)  # the runs of a data set follow each other
def _split(dataset: str, root: Path, most: int | None) -> PaperSplit:
    whole = paper_split(dataset, root)
    return whole if most is None else cut(whole, most)


def _test_scores(outcome: Outcome, test: HeldOut, options: RunOptions, display: Quiet) -> dict[str, float | None]:
    predicted = classes_of(outcome.model, test.collection.images, options.view_storage(), display)
    rows = np.flatnonzero(predicted >= 0)
    scores = scoring(test.truth)(test.collection.keep(rows), predicted[rows])
    return {f"test_{name}": scores[name] for name in ("all", "old", "new")}
