"""The one pipeline: collection → kept views → method → discovery. CLI, estimator, paper and review all call it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from legogcd.collection import Collection, ImageFiles
from legogcd.collection.phrases import counted, some_of
from legogcd.discovery import CHECKPOINT, Discovery, check_free, write_predictions
from legogcd.errors import UserError
from legogcd.methods import Method, Recipe, build_method, check_method
from legogcd.training.display import Quiet
from legogcd.training.journal import Journal, open_journal
from legogcd.training.loop import Metrics, Trainee, train
from legogcd.training.model import Model
from legogcd.training.optimizer import build_optimizer
from legogcd.training.runtime import Runtime, open_runtime
from legogcd.training.views import KeepingRules, OpenedViews, open_views
from legogcd.version import __version__
from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.encode import Encoder

MOST_START_IMAGES = 50_000  # k-means on more would need more memory and find the same groups
Score = Callable[[Collection, np.ndarray], dict[str, float | None]]


@dataclass(frozen=True)
class Job:
    """Everything that decides what a run computes."""

    collection: Collection
    n_classes: int
    method: str = "legogcd"
    recipe: Recipe = field(default_factory=Recipe)
    backbone: str = "efficientnet-lite0"
    image_size: int = 224
    train_blocks: int = 1
    keeping: KeepingRules = field(default_factory=KeepingRules)
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    threads: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What a run gives: every image sorted, the model that sorted them, and how it got there."""

    discovery: Discovery
    model: Model
    metrics: list[Metrics]
    config: dict[str, Any]


@dataclass
class Prepared:
    """A job with its backbone loaded, its views at hand and its unreadable images left out."""

    job: Job
    runtime: Runtime
    backbone: Backbone
    views: OpenedViews
    collection: Collection
    rows: torch.Tensor

    def trainee(self, method: Method) -> Trainee:
        labels = torch.from_numpy(self.collection.labels)
        return Trainee(self.views.source, self.rows, labels, self.backbone.tail, method, self.runtime)

    def directions(self) -> np.ndarray:
        """The untrained features of all images at length 1 [N, D]: what the k-means family clusters."""
        features = self.trainee(Method()).features()
        return np.asarray(features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12))


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
    if out is not None:
        model.save(out)
    discovery = _sort(prepared, method)
    if out is not None:
        write_predictions(out, discovery)
        shutil.rmtree((out / CHECKPOINT).parent, ignore_errors=True)
    return Outcome(discovery, model, metrics, config)


def save_run(outcome: Outcome, out: Path) -> None:
    """Write the run folder of an outcome that was computed without one."""
    journal = open_journal(out, outcome.config, resume=False)
    for metrics in outcome.metrics:
        journal.add(metrics)
    outcome.model.save(out)
    write_predictions(out, outcome.discovery)


def prepare(job: Job, display: Quiet) -> Prepared:
    """Load the backbone, open the views, leave unreadable images out and look at what remains."""
    runtime = open_runtime(job.device, job.precision, job.threads)
    backbone = load_backbone(job.backbone, image_size=job.image_size, train_blocks=job.train_blocks).to(runtime.device)
    display.note(f"{job.backbone} on {runtime.describe()}")
    images = job.collection.images
    views = open_views(Encoder(backbone, runtime.device, runtime.precision), images, job.keeping, display)
    if views.unreadable:
        named = [f"{images.names[row]} ({reason})" for row, reason in sorted(views.unreadable.items())]
        display.warn(f"{counted(len(named), 'unreadable image')} left out: {some_of(named, 5)}")
    rows = [row for row in range(len(images)) if row not in views.unreadable]
    if not rows:
        raise UserError("none of the images can be read")
    collection = job.collection.keep(rows)
    for warning in collection.check(job.n_classes):
        display.warn(warning)
    return Prepared(job, runtime, backbone, views, collection, torch.tensor(rows))


def _train(
    prepared: Prepared, method: Method, journal: Journal | None, score: Score | None, display: Quiet
) -> list[Metrics]:
    job, recipe = prepared.job, prepared.job.recipe
    trainee = prepared.trainee(method)
    optimizer = build_optimizer(trainee.tail, method, recipe)
    first_epoch = journal.restore(trainee.tail, method, optimizer, recipe.epochs) if journal else 0
    if first_epoch == 0 and recipe.start == "kmeans":
        display.note("finding a start for the prototypes with semi-supervised k-means")
        chosen = start_images(prepared.collection.labels, job.seed)
        method.start(trainee.features(chosen), prepared.collection.labels[chosen], job.seed)
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


def start_images(labels: np.ndarray, seed: int, most: int = MOST_START_IMAGES) -> np.ndarray:
    """Positions of the images the prototypes start from: all, or a random part that keeps labelled ones of each class.

    >>> start_images(np.array([0, -1, -1, -1, -1, 1]), seed=0, most=4).size
    4
    """
    if len(labels) <= most:
        return np.arange(len(labels))
    order = np.random.default_rng(seed).permutation(len(labels))
    first_of_class = order[np.unique(labels[order], return_index=True)[1]]  # one of each class, and one unlabelled
    others = order[~np.isin(order, first_of_class)]
    return np.sort(np.concatenate([first_of_class, others])[: max(most, len(first_of_class))])


def _sort(prepared: Prepared, method: Method) -> Discovery:
    predicted, confidence = prepared.trainee(method).predict()
    images = prepared.job.collection.images
    return Discovery(
        names=prepared.collection.images.names,
        labels=prepared.collection.labels,
        predicted=predicted,
        confidence=confidence,
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
        "method": job.method,
        "recipe": job.recipe.model_dump(),
        "backbone": {
            "name": job.backbone,
            "fingerprint": prepared.backbone.fingerprint(),
            "image_size": job.image_size,
            "train_blocks": job.train_blocks,
        },
        "views": {"kept": job.keeping.views, "dtype": job.keeping.dtype, "seed": job.keeping.seed},
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
