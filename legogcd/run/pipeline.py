"""The one pipeline: collection → kept views → method → discovery. CLI, estimator, paper and review all call it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from legogcd.collection import UNLABELLED, Collection, ImageFiles, Images
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.evaluation.calibration import Calibration, calibrate
from legogcd.methods import Method, ParametricRecipe, Recipe, build_method, check_method, directions
from legogcd.run.folder import CHECKPOINT, Discovery, check_free, write_predictions
from legogcd.run.model import Model
from legogcd.run.runtime import Runtime, open_runtime
from legogcd.training.draw import clustering_images
from legogcd.training.held_out import hold_out
from legogcd.training.journal import Journal, open_journal
from legogcd.training.loop import Metrics, Trainee, train
from legogcd.training.optimizer import build_optimizer
from legogcd.version import __version__
from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.views.encode import Encoder
from legogcd.vision.views.opening import OpenedViews, ViewStorage, open_views
from legogcd.wording import left_out

Score = Callable[[Collection, np.ndarray], dict[str, float | None]]


@dataclass(frozen=True)
class Job:
    """Everything that decides what a run computes."""

    collection: Collection
    n_classes: int
    method: str = "legogcd"
    recipe: Recipe = field(default_factory=ParametricRecipe)
    backbone: str = "efficientnet-lite0"
    image_size: int = 224
    train_blocks: int = 1
    keeping: ViewStorage = field(default_factory=ViewStorage)
    held_out: float = 0.0  # share of the labels that calibrate the confidence instead of training
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    threads: int | None = None
    name: str = ""  # of the collection, for titles


@dataclass(frozen=True)
class Outcome:
    """What a run gives: every image sorted, the model that sorted them, and how it got there."""

    discovery: Discovery
    model: Model
    metrics: list[Metrics]
    config: dict[str, Any]
    features: Callable[[np.ndarray | None], np.ndarray] | None = (
        None  # trained [n, D], of all images or at some positions
    )


@dataclass
class Prepared:
    """A job with its backbone loaded, its views at hand and its unreadable images left out."""

    job: Job
    runtime: Runtime
    backbone: Backbone
    views: OpenedViews
    collection: Collection
    rows: torch.Tensor

    @cached_property
    def held_out(self) -> np.ndarray:
        """Positions of the labelled images whose labels training does not see."""
        return hold_out(self.collection.labels, self.job.held_out, self.job.seed)

    @cached_property
    def labels(self) -> np.ndarray:
        """The labels training sees [N]."""
        labels = self.collection.labels.copy()
        labels[self.held_out] = UNLABELLED
        return labels

    def trainee(self, method: Method) -> Trainee:
        labels = torch.from_numpy(self.labels)
        return Trainee(self.views.source, self.rows, labels, self.backbone.tail, method, self.runtime)

    def directions(self, positions: np.ndarray | None = None) -> np.ndarray:
        """The untrained features at length 1 [n, D], of all images or of those at some positions."""
        return directions(self.trainee(Method()).features(positions))


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
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(job.seed)
        method = build_method(
            job.method, prepared.backbone.dim, job.n_classes, prepared.collection.n_known, job.recipe
        ).to(prepared.runtime.device)
    model = Model(
        prepared.backbone, method, prepared.collection.known, job.n_classes, job.keeping.dtype, prepared.runtime
    )
    config = _config(prepared)
    journal = None
    if out is not None:
        journal = open_journal(out, config, resume)
        journal.time("views", prepared.views.seconds)
    metrics = _train(prepared, method, journal, score, display)
    model.calibration = _calibrate(prepared, model)
    if out is not None:
        model.save(out)
    discovery = _sort(prepared, model)
    if out is not None:
        write_predictions(out, discovery)
        shutil.rmtree((out / CHECKPOINT).parent, ignore_errors=True)
    return Outcome(discovery, model, metrics, config, prepared.trainee(method).features)


def sort_others(model: Model, images: Images, keeping: ViewStorage, display: Quiet | None = None) -> np.ndarray:
    """Classes [N] a trained model gives to other images, such as a test split; -1 where one cannot be read.

    Their evaluation views are kept, so that the next model on the same backbone need not encode them again.
    """
    encoder = Encoder(model.backbone, model.runtime.device, model.runtime.precision)
    views = open_views(encoder, images, replace(keeping, views="fresh"), display or Quiet())
    rows = torch.tensor([row for row in range(len(images)) if row not in views.unreadable])
    labels = torch.full_like(rows, UNLABELLED)
    trainee = Trainee(views.source, rows, labels, model.backbone.tail, model.method, model.runtime)
    predicted = np.full(len(images), UNLABELLED)
    predicted[rows.numpy()] = trainee.predict()
    return predicted


def save_run(outcome: Outcome, out: Path) -> None:
    """Write the run folder of an outcome that was computed without one."""
    journal = open_journal(out, outcome.config, resume=False)
    for metrics in outcome.metrics:
        journal.add(metrics)
    outcome.model.save(out)
    write_predictions(out, outcome.discovery)


def prepare(job: Job, display: Quiet) -> Prepared:
    """Load the backbone, open the views and leave unreadable images out."""
    runtime = open_runtime(job.device, job.precision, job.threads)
    backbone = load_backbone(job.backbone, image_size=job.image_size, train_blocks=job.train_blocks).to(runtime.device)
    display.note(f"{job.backbone} on {runtime.describe()}")
    images = job.collection.images
    views = open_views(Encoder(backbone, runtime.device, runtime.precision), images, job.keeping, display)
    if views.unreadable:
        display.warn(left_out({images.names[row]: reason for row, reason in sorted(views.unreadable.items())}))
    rows = [row for row in range(len(images)) if row not in views.unreadable]
    if not rows:
        raise UserError("none of the images can be read")
    return Prepared(job, runtime, backbone, views, job.collection.keep(rows), torch.tensor(rows))


def _train(
    prepared: Prepared, method: Method, journal: Journal | None, score: Score | None, display: Quiet
) -> list[Metrics]:
    job, recipe = prepared.job, prepared.job.recipe
    trainee = prepared.trainee(method)
    optimizer = build_optimizer(trainee.tail, method, recipe)
    first_epoch = journal.restore(trainee.tail, method, optimizer, recipe.epochs) if journal else 0
    if first_epoch == 0 and recipe.start == "kmeans":
        display.note("finding a start for the prototypes with semi-supervised k-means")
        chosen = clustering_images(prepared.labels, job.seed)
        method.start(trainee.features(chosen), prepared.labels[chosen], job.seed)
    entries = journal.entries if journal else []

    def score_predictions(predicted: np.ndarray) -> dict[str, float | None]:
        assert score is not None
        return score(prepared.collection, predicted)

    with display.training(job.method, recipe.epochs) as show:

        def after_epoch(metrics: Metrics) -> None:
            entries.append(metrics)
            if journal:
                journal.add(metrics)
                journal.save_if_due(trainee.tail, method, optimizer, metrics["epoch"])
            show(metrics)

        train(
            trainee,
            optimizer,
            recipe,
            job.seed,
            first_epoch=first_epoch,
            score=score_predictions if score else None,
            after_epoch=after_epoch,
        )
    return entries


def _calibrate(prepared: Prepared, model: Model) -> Calibration:
    """What the held-out images say about the confidence of a trained model."""
    if not prepared.held_out.size:
        return Calibration()
    batches = prepared.trainee(model.method).evaluation_features(torch.from_numpy(prepared.held_out))
    probabilities = np.concatenate([model.classify(batch) for batch in batches])
    return calibrate(probabilities, prepared.collection.labels[prepared.held_out])


def _sort(prepared: Prepared, model: Model) -> Discovery:
    predicted, confidence = [], []
    for batch in prepared.trainee(model.method).evaluation_features():
        probabilities = model.classify(batch)
        predicted.append(probabilities.argmax(axis=1))
        confidence.append(probabilities.max(axis=1))
    images = prepared.job.collection.images
    return Discovery(
        names=prepared.collection.images.names,
        labels=prepared.collection.labels,
        predicted=np.concatenate(predicted),
        confidence=np.concatenate(confidence),
        known=prepared.collection.known,
        n_classes=prepared.job.n_classes,
        unreadable={images.names[row]: reason for row, reason in prepared.views.unreadable.items()},
    )


def _config(prepared: Prepared) -> dict[str, Any]:
    """Everything needed to repeat the run and to load its model; no times, so that repeats are the same bytes."""
    job, collection = prepared.job, prepared.collection
    images = job.collection.images
    return {
        "version": __version__,
        "name": job.name,
        "method": job.method,
        "recipe": job.recipe.model_dump(),
        "backbone": {
            "name": job.backbone,
            "fingerprint": prepared.backbone.fingerprint(),
            "image_size": job.image_size,
            "train_blocks": job.train_blocks,
        },
        "views": {"kept": job.keeping.views, "dtype": job.keeping.dtype, "seed": job.keeping.seed},
        "held_out": job.held_out,
        "seed": job.seed,
        "device": prepared.runtime.device.type,
        "precision": prepared.runtime.precision,
        "threads": torch.get_num_threads(),
        "images": {
            "root": str(images.root) if isinstance(images, ImageFiles) else None,
            "count": len(collection),
            "labelled": int(collection.labelled.sum()),
            "unreadable": {images.names[row]: reason for row, reason in sorted(prepared.views.unreadable.items())},
        },
        "known": list(collection.known),
        "n_classes": job.n_classes,
    }
