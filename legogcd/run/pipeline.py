"""The one pipeline: collection → kept views → method → discovery. CLI, estimator, paper and review all call it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from legogcd.collection import Collection
from legogcd.csv_text import write_rows
from legogcd.display import Quiet
from legogcd.errors import Interrupted
from legogcd.evaluation.calibration import Calibration, calibrate
from legogcd.evaluation.collapse import collapse_of_table
from legogcd.files import sweep_temporaries
from legogcd.locks import try_lock
from legogcd.methods import Method
from legogcd.run.config import RunConfig, check_same, write_config
from legogcd.run.discovery import Discovery, write_predictions
from legogcd.run.folder import CHECKPOINT, COLLECTION, CONFIG, LOCK, SEALED, SKIPPED, check_free
from legogcd.run.job import Job, Prepared, prepare
from legogcd.run.manifest import discard_damaged_manifest, seal
from legogcd.run.model import Model
from legogcd.run.trust import remember_root
from legogcd.training.draw import clustering_images
from legogcd.training.journal import Journal
from legogcd.training.loop import DivergedError, Metrics, train
from legogcd.training.optimizer import build_optimizer
from legogcd.wording import skipped_files

Score = Callable[[Collection, np.ndarray], dict[str, float | None]]
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


def discover(
    job: Job,
    out: Path | None = None,
    *,
    score: Score | None = None,
    resume: bool = False,
    display: Quiet | None = None,
) -> Outcome:
    """Sort a collection. With ``out``, leave a run folder; with ``resume``, go on with the one that is there."""
    display = display or Quiet()
    _ = job.method  # an unknown one is said at once
    job.collection.check(job.n_classes)
    if score is not None:
        score(job.collection, np.zeros(len(job.collection), np.int64))  # a truth that scores nothing is said at once
    if out is None:
        return _computed(_prepared(job, display), None, score, display)
    with _claimed(out, resume, display):
        prepared = _prepared(job, display)
        _begin(out, prepared, resume)
        if prepared.skipped:
            display.note(skipped_files(prepared.skipped, str(out / SKIPPED)))
        journal = Journal(out)
        journal.time("views", prepared.opened.seconds)
        outcome = _computed(prepared, journal, score, display)
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


def _prepared(job: Job, display: Quiet) -> Prepared:
    prepared = prepare(job, display)
    if prepared.differs:
        display.note(f"unlike the published runs: {'; '.join(prepared.differs)}")
    for warning in prepared.collection.check(job.n_classes):
        display.warn(warning)
    return prepared


def _computed(prepared: Prepared, journal: Journal | None, score: Score | None, display: Quiet) -> Outcome:
    """Train, calibrate, sort; what was learned is saved before anything is sorted by it."""
    model = prepared.model()
    metrics = _train(prepared, model.method, journal, score, display)
    model.calibration = _calibrate(prepared, model)
    if journal is not None:
        model.save(journal.folder, metrics)
    discovery, features = _sort(prepared, model)
    collapsed = collapse_of_table(discovery.table(), discovery.n_classes, len(discovery.known))
    if collapsed:
        display.warn(collapsed)
    learner, views = prepared.learner(model.method), prepared.views
    at = partial(learner.features, views)
    return Outcome(discovery, model, metrics, prepared.config(), features, at)


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
    if not begun:
        write_config(out, config)
    remember_root(out, config.images.root, config.options.backbone)


def _finish(out: Path, outcome: Outcome) -> None:
    write_predictions(out, outcome.discovery)
    seal(out, [name for name in SEALED if (out / name).exists()])
    shutil.rmtree((out / CHECKPOINT).parent, ignore_errors=True)


def save_run(outcome: Outcome, out: Path) -> None:
    """Write the run folder of an outcome that was computed without one."""
    out.mkdir(parents=True, exist_ok=True)
    write_config(out, outcome.config)
    remember_root(out, outcome.config.images.root, outcome.config.options.backbone)
    journal = Journal(out)
    for metrics in outcome.metrics:
        journal.add(metrics)
    outcome.model.save(out, outcome.metrics)
    _finish(out, outcome)


def _train(
    prepared: Prepared, method: Method, journal: Journal | None, score: Score | None, display: Quiet
) -> list[Metrics]:
    recipe, seed = prepared.job.recipe, prepared.job.options.seed
    learner, views = prepared.learner(method), prepared.views
    optimizer = build_optimizer(learner.tail, method, recipe)
    first_epoch = journal.restore(learner.tail, method, optimizer, recipe.epochs, display.warn) if journal else 0
    if first_epoch == 0 and recipe.start == "kmeans":
        display.note("finding a start for the prototypes with semi-supervised k-means")
        chosen = clustering_images(prepared.labels, seed)
        method.start(learner.features(views, chosen), prepared.labels[chosen], seed)
    entries: list[Metrics] = journal.entries if journal else []

    def score_predictions(predicted: np.ndarray) -> dict[str, float | None]:
        assert score is not None
        return score(prepared.collection, predicted)

    with display.training(prepared.job.method, recipe.epochs) as show:

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
                score=score_predictions if score else None,
                after_epoch=after_epoch,
            )
        except (KeyboardInterrupt, DivergedError) as stop:
            if journal:
                journal.save_latest()
            if journal and isinstance(stop, KeyboardInterrupt):
                raise Interrupted(f"{journal.saved} of {recipe.epochs} epochs are saved") from None
            raise
    return entries


def _calibrate(prepared: Prepared, model: Model) -> Calibration:
    """What the held-out images say about the confidence of a trained model."""
    if not prepared.held_out.size:
        return Calibration()
    learner, positions = prepared.learner(model.method), torch.from_numpy(prepared.held_out)
    batches = learner.evaluation_features(prepared.views, positions)
    probabilities = np.concatenate([model.classify(batch) for batch in batches])
    return calibrate(probabilities, prepared.collection.labels[prepared.held_out])


def _sort(prepared: Prepared, model: Model) -> tuple[Discovery, np.ndarray | None]:
    """Every image's class, and the features that were computed on the way, unless there are too many to keep."""
    predicted, confidence, handed_over = [], [], []
    for batch in prepared.learner(model.method).evaluation_features(prepared.views):
        probabilities = model.classify(batch)
        predicted.append(probabilities.argmax(axis=1))
        confidence.append(probabilities.max(axis=1))
        if len(prepared.rows) <= MOST_HANDED_OVER:
            handed_over.append(batch.cpu().numpy())
    discovery = Discovery(
        names=prepared.collection.images.names,
        labels=prepared.collection.labels,
        predicted=np.concatenate(predicted),
        confidence=np.concatenate(confidence),
        known=prepared.collection.known,
        n_classes=prepared.job.n_classes,
        unreadable=prepared.unreadable,
    )
    return discovery, np.concatenate(handed_over) if handed_over else None
