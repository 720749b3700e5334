"""A job, and what it needs before anything is trained: a backbone, views at hand, unreadable images left out."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from legogcd.clustering import directions
from legogcd.collection import UNLABELLED, Collection, ImageFiles
from legogcd.collection.differences import CollectionRecord
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.methods import Method, Recipe, build_method, check_method
from legogcd.run.config import ImagesRecord, RunConfig
from legogcd.run.model import Model
from legogcd.run.options import RunOptions
from legogcd.run.runtime import Runtime, open_runtime
from legogcd.training.held_out import hold_out
from legogcd.training.loop import LabelledViews, Learner
from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.views.encode import Encoder
from legogcd.vision.views.opening import OpenedViews, open_views
from legogcd.wording import left_out


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
        return hold_out(self.collection.labels, self.job.options.protocol.held_out, self.job.options.seed)

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
        known, protocol = self.collection.known, job.options.protocol
        full = protocol.decode == "full"
        return Model(self.backbone, method, known, job.n_classes, protocol.kept_dtype, self.runtime, full_decode=full)

    @cached_property
    def record(self) -> CollectionRecord:
        """What every image of the job and its label are now."""
        return CollectionRecord.of(self.job.collection)

    @property
    def skipped(self) -> dict[str, str]:
        """Why files beside the images, and images, were left out."""
        images = self.job.collection.images
        return {**(images.skipped if isinstance(images, ImageFiles) else {}), **self.unreadable}

    @property
    def differs(self) -> tuple[str, ...]:
        """In what this run differs from the published ones, where its recipe is a published one."""
        return self.job.options.unlike_published(self.runtime.precision)

    def config(self) -> RunConfig:
        """Everything needed to repeat the run and to load its model."""
        job, collection = self.job, self.collection
        images = job.collection.images
        return RunConfig(
            name=job.name,
            options=job.options.changed(
                method=job.method,
                device=self.runtime.device.type,
                **{**job.options.protocol._asdict(), "precision": self.runtime.precision},
                threads=torch.get_num_threads(),
            ),
            method=job.method,
            differs=self.differs,
            recipe=job.recipe.model_dump(mode="json"),
            weights=self.backbone.fingerprint(),
            kept_in=self.opened.kept_in,
            known=collection.known,
            images=ImagesRecord(
                root=str(images.root) if isinstance(images, ImageFiles) else None,
                count=len(collection),
                labelled=int(collection.labelled.sum()),
                unreadable=self.unreadable,
                digests=self.record.digests(),
            ),
        )


def prepare(job: Job, display: Quiet) -> Prepared:
    """Load the backbone, open the views and leave unreadable images out."""
    options = job.options
    runtime = open_runtime(options.device, options.protocol.precision, options.threads)
    backbone = load_backbone(options.backbone, image_size=options.image_size, train_blocks=options.train_blocks)
    backbone = backbone.to(runtime.device)
    display.note(f"{options.backbone} on {runtime.describe()}")
    images = job.collection.images
    encoder = Encoder(backbone, runtime.device, runtime.precision, full_decode=options.protocol.decode == "full")
    opened = open_views(encoder, images, options.view_storage(), display)
    rows = [row for row in range(len(images)) if row not in opened.unreadable]
    prepared = Prepared(job, runtime, backbone, opened, job.collection.keep(rows), torch.tensor(rows))
    if prepared.unreadable:
        display.warn(left_out(prepared.unreadable))
    if not rows:
        raise UserError("none of the images can be read")
    return prepared
