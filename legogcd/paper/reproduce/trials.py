"""Run what a table asks for: the paper's split, the published recipe, the test images at the end."""

import time
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from legogcd.display import Quiet
from legogcd.evaluation import scoring
from legogcd.evaluation.results import Result, settings_text
from legogcd.files import slug
from legogcd.paper.datasets import dataset_named
from legogcd.paper.reproduce.protocol import Protocol
from legogcd.paper.reproduce.published_tables import Cell
from legogcd.paper.splits import HeldOut, PaperSplit, paper_split
from legogcd.run import Job, Outcome, RunOptions
from legogcd.run.predict import classes_of
from legogcd.run.scored import scored_run


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
