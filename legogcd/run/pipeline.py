"""The one pipeline: collection → kept views → method → discovery. CLI, estimator, paper and review all call it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from legogcd.collection import UNLABELLED, Collection, ImageFiles
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.evaluation.calibration import Calibration, calibrate
from legogcd.methods import Method, Recipe, build_method, check_method, directions
from legogcd.run.config import ImagesRecord, RunConfig, begin_run
from legogcd.run.discovery import Discovery, write_predictions
from legogcd.run.folder import CHECKPOINT, check_free
from legogcd.run.model import Model
from legogcd.run.options import RunOptions
from legogcd.run.runtime import Runtime, open_runtime
from legogcd.run.trust import remember_root
from legogcd.training.draw import clustering_images
from legogcd.training.held_out import hold_out
from legogcd.training.journal import Journal
from legogcd.training.loop import LabelledViews, Learner, Metrics, train
from legogcd.training.optimizer import build_optimizer
from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.views.encode import Encoder
from legogcd.vision.views.opening import OpenedViews, open_views
from legogcd.wording import left_out

Score = Callable[[Collection, np.ndarray], dict[str, float | None]]
MOST_HANDED_OVER = 50_000  # images whose features stay in memory for whoever asks next


@dataclass(frozen=True)
class Job:
    """A collection, and everything that decides what a run computes of it."""

    collection: Collection
    options: RunOptions
    name: str = ""  # of the collection, for titles

    @property
    def n_classes(self) -> int:
        if not isinstance(self.options.n_classes, int):
            raise UserError("n_classes is needed: how many categories there are in all, known and new")
        return self.options.n_classes

    @property
    def method(self) -> str:
        return check_method(self.options.method_name)

    @cached_property
    def recipe(self) -> Recipe:
        return self.options.chosen_recipe()

    def changed(self, **options: Any) -> "Job":
        """The same job with other options."""
        return replace(self, options=self.options.changed(**options))

    def build_method(self, dim: int) -> Method:
        """The method for features [·, dim], before any training; the same seed gives the same one."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.options.seed)
            return build_method(self.method, dim, self.n_classes, self.collection.n_known, self.recipe)


@dataclass(frozen=True)
class Outcome:
    """What a run gives: every image sorted, the model that sorted them, and how it got there."""

    discovery: Discovery
    model: Model
    metrics: list[Metrics]
    config: RunConfig
    features: np.ndarray | None = None  # [N, D] trained, of a run that has just ended and is not too large
    features_at: Callable[[np.ndarray], np.ndarray] | None = None  # the same at some positions, of any run


@dataclass
class Prepared:
    """A job with its backbone loaded, its views at hand and its unreadable images left out."""

    job: Job
    runtime: Runtime
    backbone: Backbone
    opened: OpenedViews
    collection: Collection
    rows: torch.Tensor  # [N] the collection's images among all of the job's

    @cached_property
    def held_out(self) -> np.ndarray:
        """Positions of the labelled images whose labels training does not see."""
        return hold_out(self.collection.labels, self.job.options.held_out, self.job.options.seed)

    @cached_property
    def labels(self) -> np.ndarray:
        """The labels training sees [N]."""
        labels = self.collection.labels.copy()
        labels[self.held_out] = UNLABELLED
        return labels

    @property
    def views(self) -> LabelledViews:
        return LabelledViews(self.opened.source, self.rows, torch.from_numpy(self.labels))

    def learner(self, method: Method) -> Learner:
        return Learner(self.backbone.tail, method, self.runtime)

    def directions(self, positions: np.ndarray | None = None) -> np.ndarray:
        """The untrained features at length 1 [n, D], of all images or of those at some positions."""
        return directions(self.learner(Method()).features(self.views, positions))

    @property
    def unreadable(self) -> dict[str, str]:
        names = self.job.collection.images.names
        return {names[row]: reason for row, reason in sorted(self.opened.unreadable.items())}

    def model(self) -> Model:
        """The model before it has learned anything."""
        job = replace(self.job, collection=self.collection)
        method = job.build_method(self.backbone.dim).to(self.runtime.device)
        known, dtype = self.collection.known, job.options.kept_dtype
        return Model(self.backbone, method, known, job.n_classes, dtype, self.runtime)

    def config(self) -> RunConfig:
        """Everything needed to repeat the run and to load its model."""
        job, collection = self.job, self.collection
        images = job.collection.images
        return RunConfig(
            name=job.name,
            options=job.options.changed(
                method=job.method,
                device=self.runtime.device.type,
                precision=self.runtime.precision,
                threads=torch.get_num_threads(),
            ),
            method=job.method,
            recipe=job.recipe.model_dump(mode="json"),
            weights=self.backbone.fingerprint(),
            known=collection.known,
            images=ImagesRecord(
                root=str(images.root) if isinstance(images, ImageFiles) else None,
                count=len(collection),
                labelled=int(collection.labelled.sum()),
                unreadable=self.unreadable,
            ),
        )


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
    check_method(job.method)
    job.collection.check(job.n_classes)
    if score is not None:
        score(job.collection, np.zeros(len(job.collection), np.int64))  # a truth that scores nothing is said at once
    if out is not None and not resume:
        check_free(out)
    prepared = prepare(job, display)
    for warning in prepared.collection.check(job.n_classes):
        display.warn(warning)
    model, config, journal = prepared.model(), prepared.config(), None
    if out is not None:
        begin_run(out, config, resume)
        remember_root(out, config.images.root, config.options.backbone)
        journal = Journal(out)
        journal.time("views", prepared.opened.seconds)
    metrics = _train(prepared, model.method, journal, score, display)
    model.calibration = _calibrate(prepared, model)
    if out is not None:
        model.save(out)
    discovery, features = _sort(prepared, model)
    if out is not None:
        write_predictions(out, discovery)
        shutil.rmtree((out / CHECKPOINT).parent, ignore_errors=True)
    learner, views = prepared.learner(model.method), prepared.views
    return Outcome(discovery, model, metrics, config, features, lambda positions: learner.features(views, positions))


def prepare(job: Job, display: Quiet) -> Prepared:
    """Load the backbone, open the views and leave unreadable images out."""
    options = job.options
    runtime = open_runtime(options.device, options.precision, options.threads)
    backbone = load_backbone(options.backbone, image_size=options.image_size, train_blocks=options.train_blocks)
    backbone = backbone.to(runtime.device)
    display.note(f"{options.backbone} on {runtime.describe()}")
    images = job.collection.images
    encoder = Encoder(backbone, runtime.device, runtime.precision)
    opened = open_views(encoder, images, options.view_options(), display)
    rows = [row for row in range(len(images)) if row not in opened.unreadable]
    prepared = Prepared(job, runtime, backbone, opened, job.collection.keep(rows), torch.tensor(rows))
    if prepared.unreadable:
        display.warn(left_out(prepared.unreadable))
    if not rows:
        raise UserError("none of the images can be read")
    return prepared


def save_run(outcome: Outcome, out: Path) -> None:
    """Write the run folder of an outcome that was computed without one."""
    begin_run(out, outcome.config, resume=False)
    remember_root(out, outcome.config.images.root, outcome.config.options.backbone)
    journal = Journal(out)
    for metrics in outcome.metrics:
        journal.add(metrics)
    outcome.model.save(out)
    write_predictions(out, outcome.discovery)


def _train(
    prepared: Prepared, method: Method, journal: Journal | None, score: Score | None, display: Quiet
) -> list[Metrics]:
    recipe, seed = prepared.job.recipe, prepared.job.options.seed
    learner, views = prepared.learner(method), prepared.views
    optimizer = build_optimizer(learner.tail, method, recipe)
    first_epoch = journal.restore(learner.tail, method, optimizer, recipe.epochs) if journal else 0
    if first_epoch == 0 and recipe.start == "kmeans":
        display.note("finding a start for the prototypes with semi-supervised k-means")
        chosen = clustering_images(prepared.labels, seed)
        method.start(learner.features(views, chosen), prepared.labels[chosen], seed)
    entries = journal.entries if journal else []

    def score_predictions(predicted: np.ndarray) -> dict[str, float | None]:
        assert score is not None
        return score(prepared.collection, predicted)

    with display.training(prepared.job.method, recipe.epochs) as show:

        def after_epoch(metrics: Metrics) -> None:
            entries.append(metrics)
            if journal:
                journal.add(metrics)
                journal.save_if_due(learner.tail, method, optimizer, metrics["epoch"])
            show(metrics)

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
