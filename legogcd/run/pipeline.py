"""The one pipeline: collection → kept views → method → discovery. CLI, estimator, paper and review all call it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from legogcd import launched
from legogcd.allocator import give_back
from legogcd.collection import UNLABELLED, Collection
from legogcd.csv_text import write_rows
from legogcd.display import Quiet
from legogcd.errors import Interrupted
from legogcd.evaluation.calibration import Calibration, calibrate
from legogcd.evaluation.collapse import collapse_of_table
from legogcd.evaluation.strangers import Nearness, Strangers, usual_distances
from legogcd.files import sweep_temporaries
from legogcd.locks import try_lock
from legogcd.methods import Method
from legogcd.run.config import RunConfig, check_same, write_config
from legogcd.run.discovery import Discovery, write_predictions
from legogcd.run.folder import CHECKPOINT, COLLECTION, CONFIG, LOCK, SEALED, SKIPPED, check_free
from legogcd.run.job import Job, Prepared, prepare
from legogcd.run.manifest import discard_damaged_manifest, seal
from legogcd.run.model import Model, write_strangers
from legogcd.run.near_duplicates import Copies, write_copies
from legogcd.run.trust import remember_root
from legogcd.training.draw import clustering_images
from legogcd.training.journal import Journal
from legogcd.training.loop import DivergedError, Metrics, train
from legogcd.training.optimizer import build_optimizer
from legogcd.training.processes import Processes
from legogcd.wording import skipped_files

Score = Callable[[Collection, np.ndarray], dict[str, float | None]]
ENOUGH_OTHERS = 200  # images that were not learned from, to tell from them alone what is usual
MOST_HANDED_OVER = 50_000  # images whose features stay in memory for whoever asks next


@dataclass(frozen=True)
class Outcome:
    """What a run gives: every image sorted, the model that sorted them, and how it got there."""

    discovery: Discovery
    model: Model
    metrics: list[Metrics]
    config: RunConfig
    features: np.ndarray | None = None  # [N, D] trained, of a run that has just ended and is not too large
    features_at: Callable[[np.ndarray], np.ndarray] | None = None  # the same at some positions, of any run
    copies: Copies | None = None  # which images are one photo, where that was looked for
    learned_from: np.ndarray | None = None  # positions of the images that were learned from; None: all
    scores: dict[str, float | None] | None = None  # of all images, where not all were learned from


def discover(
    job: Job,
    out: Path | None = None,
    *,
    score: Score | None = None,
    resume: bool = False,
    display: Quiet | None = None,
    prepared: Prepared | None = None,
) -> Outcome:
    """Sort a collection. With ``out``, leave a run folder; with ``resume``, go on with the one that is there.

    ``prepared`` is the job with its views at hand, where somebody has needed them before.
    """
    display = display or Quiet()
    job.check()
    if score is not None:
        score(job.collection, np.zeros(len(job.collection), np.int64))  # a truth that scores nothing is said at once
    if out is None or launched.rank():  # of several processes the first one alone writes
        return computed(_told(prepared or prepare(job, display), display), None, score, display)
    with _claimed(out, resume, display):
        prepared = _told(prepared or prepare(job, display), display)
        _begin(out, prepared, resume)
        if prepared.skipped:
            display.note(skipped_files(prepared.skipped, str(out / SKIPPED)))
        journal = Journal(out)
        journal.time("views", prepared.opened.seconds)
        outcome = computed(prepared, journal, score, display)
        if len(prepared.rest):
            skipped = {**prepared.skipped, **outcome.discovery.unreadable}
            write_rows(out / SKIPPED, ("path", "reason"), sorted(skipped.items()))
        _finish(out, outcome)
    return outcome


@contextmanager
def _claimed(out: Path, resume: bool, display: Quiet) -> Iterator[None]:
    """A folder that is this run's alone until it ends; left as it was if nothing was written into it."""
    if not resume:
        check_free(out)
    there = out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        with try_lock(out / LOCK, display.warn, remove=True):
            yield
    finally:
        if not there:
            with suppress(OSError):  # something of the run is in it
                out.rmdir()


def _told(prepared: Prepared, display: Quiet) -> Prepared:
    """The same, once the person knows what is unusual about it."""
    if prepared.differs:
        display.note(f"unlike the published runs: {'; '.join(prepared.differs)}")
    for warning in prepared.collection.check(prepared.job.n_classes):
        display.warn(warning)
    prepared.find_copies(display)
    return prepared


def computed(
    prepared: Prepared, journal: Journal | None = None, score: Score | None = None, display: Quiet | None = None
) -> Outcome:
    """Train, calibrate, sort; what was learned is saved before anything is sorted by it."""
    display = display or Quiet()
    model = prepared.model()
    metrics = _train(prepared, model.method, journal, score, display)
    give_back()
    with display.phases.during("sorting"):
        model.calibration = _calibrate(prepared, model)
        if journal is not None:
            model.save(journal.folder, metrics)
        discovery, features, model.strangers = _sort(prepared, model)
    give_back()
    alone = replace(prepared.learner(model.method), processes=Processes())  # who asks later asks in one process
    at = partial(alone.features, prepared.views)
    outcome = Outcome(discovery, model, metrics, prepared.config(), features, at, prepared.copies)
    if len(prepared.rest):
        with display.phases.during("sorting"):
            outcome = _with_rest(prepared, outcome, score, display)
    discovery = outcome.discovery
    collapsed = collapse_of_table(discovery.table(), discovery.n_classes, len(discovery.known))
    if collapsed:
        display.warn(collapsed)
    return outcome


def _with_rest(prepared: Prepared, outcome: Outcome, score: Score | None, display: Quiet) -> Outcome:
    """The images that were not learned from, sorted too: one batch is in memory at a time, nothing is kept of them."""
    whole, model, learned = prepared.job.collection, outcome.model, outcome.discovery
    images = whole.images.subset(prepared.rest)
    keep = outcome.features is not None and len(whole) <= MOST_HANDED_OVER
    found, handed_over, distances = [np.zeros(0, _ANSWER)], [outcome.features], [np.zeros(0)]
    rows: list[int] = []
    unreadable: dict[str, str] = {}
    with display.counting("sorting the other images", len(images)) as progress:
        for batch in model.batches(images):
            unreadable |= {images.names[row]: reason for row, reason in batch.unreadable.items()}
            rows += batch.rows
            if batch.rows:
                found.append(_best(model.classify(batch.features), np.full(len(batch.rows), UNLABELLED)))
                distances.append(model.distance(batch.features))
                handed_over += [batch.features.cpu().numpy()] if keep else []
            progress(len(rows) + len(unreadable))
    if len(rows) >= ENOUGH_OTHERS:
        model.strangers = usual_distances(np.concatenate(distances))  # nothing was learned from these
    place = {name: position for position, name in enumerate(whole.images.names)}
    positions = np.array([place[name] for name in learned.names] + prepared.rest[rows].tolist(), np.int64)
    order = np.argsort(positions, kind="stable")
    readable, others = whole.keep(positions[order]), np.concatenate(found)
    discovery = replace(
        learned,
        names=readable.images.names,
        labels=readable.labels,
        predicted=np.concatenate([learned.predicted, others["predicted"]])[order],
        confidence=np.concatenate([learned.confidence, others["confidence"]])[order],
        unreadable={**learned.unreadable, **unreadable},
    )
    return replace(
        outcome,
        discovery=discovery,
        features=np.concatenate([part for part in handed_over if part is not None])[order] if keep else None,
        features_at=lambda chosen: model.transform(readable.images.subset(chosen)),
        learned_from=np.flatnonzero(order < len(learned.names)),
        scores=score(readable, discovery.predicted) if score else None,
    )


def _begin(out: Path, prepared: Prepared, resume: bool) -> None:
    """Leave what says how a run was begun, or see that the one to go on with was begun the same way."""
    sweep_temporaries(out)
    if resume:
        discard_damaged_manifest(out)
    config = prepared.config()
    begun = resume and (out / CONFIG).exists()
    if begun:
        check_same(out, config, prepared.record)
    else:
        check_free(out)
    prepared.record.write(out / COLLECTION)  # again too: what was damaged must not be sealed as if it were whole
    write_rows(out / SKIPPED, ("path", "reason"), sorted(prepared.skipped.items()))
    write_copies(out, prepared.collection.images.names, prepared.copies)
    if not begun:
        write_config(out, config)
    remember_root(out, config.images.root, config.options.protocol.backbone)


def _finish(out: Path, outcome: Outcome) -> None:
    write_strangers(out, outcome.model.strangers)
    write_predictions(out, outcome.discovery)
    seal(out, [name for name in SEALED if (out / name).exists()])
    shutil.rmtree((out / CHECKPOINT).parent, ignore_errors=True)


def save_run(outcome: Outcome, out: Path) -> None:
    """Write the run folder of an outcome that was computed without one."""
    out.mkdir(parents=True, exist_ok=True)
    write_config(out, outcome.config)
    remember_root(out, outcome.config.images.root, outcome.config.options.protocol.backbone)
    journal = Journal(out)
    for metrics in outcome.metrics:
        journal.add(metrics)
    outcome.model.save(out, outcome.metrics)
    if outcome.copies is not None:
        names = outcome.discovery.names
        learned = names if outcome.learned_from is None else [names[row] for row in outcome.learned_from]
        write_copies(out, learned, outcome.copies)
    _finish(out, outcome)


def _train(
    prepared: Prepared, method: Method, journal: Journal | None, score: Score | None, display: Quiet
) -> list[Metrics]:
    recipe, seed = prepared.job.recipe, prepared.job.options.seed
    learner, views = prepared.learner(method), prepared.learned_from
    optimizer = build_optimizer(learner.tail, method, recipe)
    first_epoch = journal.restore(learner.tail, method, optimizer, recipe.epochs, display.warn) if journal else 0
    first_epoch = learner.processes.agreed(first_epoch)
    if first_epoch:
        learner.processes.share(learner.tail, method)
        learner.processes.share_momentum(optimizer)
    elif recipe.start == "kmeans":
        display.note("grouping the images, to start from")
        labels = views.labels.numpy()
        with display.phases.during("start of the prototypes"):
            learner.settle(method.start, views, clustering_images(labels, seed), labels, seed)
    entries: list[Metrics] = journal.entries if journal else []

    def score_predictions(predicted: np.ndarray) -> dict[str, float | None]:
        assert score is not None
        return score(prepared.collection, predicted[prepared.copies.place])

    with display.phases.during("training"), display.training(prepared.job.method, recipe.epochs) as show:

        def after_epoch(metrics: Metrics) -> None:
            if journal:
                journal.add(metrics)
                journal.remember(learner.tail, method, optimizer)
            else:
                entries.append(metrics)
            show(metrics)

        try:
            train(
                learner,
                views,
                optimizer,
                recipe,
                seed,
                first_epoch=first_epoch,
                losses=[entry["loss"] for entry in entries],
                score=score_predictions if score else None,
                after_epoch=after_epoch,
            )
        except (KeyboardInterrupt, DivergedError) as stop:
            if journal:
                journal.save_latest()
            if journal and isinstance(stop, KeyboardInterrupt):
                raise Interrupted(f"{journal.saved} of {recipe.epochs} epochs are saved") from None
            raise
    if entries and entries[-1]["epoch"] < recipe.epochs:
        display.note(f"the loss is flat: ended after {entries[-1]['epoch']} of {recipe.epochs} epochs")
    return entries


def _calibrate(prepared: Prepared, model: Model) -> Calibration:
    """What the held-out images say about the confidence of a trained model."""
    if not prepared.held_out.size:
        return Calibration()
    learner, positions = prepared.learner(model.method), torch.from_numpy(prepared.held_out)
    batches = learner.evaluation_features(prepared.views, positions)
    probabilities = np.concatenate([model.classify(batch) for batch in batches])
    return calibrate(probabilities, prepared.collection.labels[prepared.held_out])


def _sort(prepared: Prepared, model: Model) -> tuple[Discovery, np.ndarray | None, Strangers | None]:
    """Every image's class, the features that were computed on the way, unless there are too many, and what is usual."""
    found, near, handed_over = [], [], []
    labels, seen = prepared.collection.labels, prepared.labels
    done = 0
    for batch in prepared.learner(model.method).evaluation_features(prepared.views):
        these = slice(done, done + len(batch))
        found.append(_best(model.classify(batch), labels[these]))
        near.append(model.nearness(batch, seen[these]))
        done += len(batch)
        if len(prepared.rows) <= MOST_HANDED_OVER:
            handed_over.append(batch.cpu().numpy())
    answers, stands_in = np.concatenate(found), prepared.copies.stands_in
    own = np.where(labels >= 0, np.arange(len(labels)), stands_in)
    given = (labels < 0) & (labels[own] >= 0)  # copies of a labelled image are what it is labelled
    discovery = Discovery(
        names=prepared.collection.images.names,
        labels=labels,
        predicted=np.where(given, labels[own], answers["predicted"][own]),
        confidence=np.where(given, answers["of_label"][own], answers["confidence"][own]),
        known=prepared.collection.known,
        n_classes=prepared.job.n_classes,
        unreadable=prepared.unreadable,
    )
    learned = prepared.copies.distinct
    usual = model.usual(Nearness.joined(near)[learned], seen[learned] < 0)
    return discovery, np.concatenate(handed_over) if handed_over else None, usual


_ANSWER = np.dtype([("predicted", np.int64), ("confidence", np.float32), ("of_label", np.float32)])


def _best(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The best class, its probability and that of the given label, of each row [n, K]."""
    answers = np.zeros(len(probabilities), _ANSWER)
    answers["predicted"] = probabilities.argmax(axis=1)
    answers["confidence"] = probabilities.max(axis=1)
    answers["of_label"] = probabilities[np.arange(len(labels)), labels]  # meaningless where there is none
    return answers
