"""A job, and what it needs before anything is trained: a backbone, views at hand, unreadable images left out."""

from collections import deque
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from legogcd.clustering import directions
from legogcd.collection import UNLABELLED, Collection, ImageArrays, Images
from legogcd.collection.differences import CollectionRecord
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.methods import Method, Recipe, build_method, check_method
from legogcd.run.config import ImagesRecord, RunConfig
from legogcd.run.engines import engine_for
from legogcd.run.model import Model
from legogcd.run.near_duplicates import Copies, find_sets, remember_sets, remembered_sets
from legogcd.run.options import RunOptions
from legogcd.run.runtime import Runtime, open_runtime
from legogcd.training.draw import trained_images
from legogcd.training.held_out import hold_out
from legogcd.training.loop import LabelledViews, Learner
from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.views.encode import Encoder
from legogcd.vision.views.opening import OpenedViews, open_views
from legogcd.wording import left_out

SET_ASIDE = "set aside in an earlier round"


@dataclass(frozen=True)
class Job:
    """A collection, and everything that decides what a run computes of it."""

    collection: Collection
    options: RunOptions
    name: str = ""  # of the collection, for titles
    set_aside: frozenset[str] = frozenset()  # images that a person said show nothing of the collection
    estimated: tuple[int, int] | None = None  # between what the number of classes is likely to be, if it is an estimate

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

    def check(self) -> None:
        """Say what cannot work before anything long: a wrong name or setting, counts that contradict each other."""
        _ = self.method, self.recipe
        self.collection.check(self.n_classes)

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
    rows: torch.Tensor  # [N] the collection's images among those whose views were opened
    looked_at: Images  # the images whose views were opened
    rest: np.ndarray  # positions among all of the job's images of those that are sorted and not learned from
    copies: Copies = field(init=False)  # near-duplicates, once `find_copies` has looked for them

    def __post_init__(self) -> None:
        self.copies = Copies.none(len(self.collection))

    def find_copies(self, display: Quiet) -> None:
        """Find the near-duplicates, where they count as one; what kept views were searched for before is remembered."""
        if self.job.options.protocol.near_duplicates != "as-one":
            return
        processes, rows, labels = self.runtime.processes, self.rows.numpy(), self.collection.labels
        sets = remembered_sets(self.opened.folder, rows) if processes.first else None
        if not processes.agreed(int(sets is not None)):
            views = LabelledViews(self.opened.source, self.rows, torch.from_numpy(labels))
            batches = self.learner(Method()).evaluation_features(views)
            if processes.first:
                with display.phases.during("near-duplicates"):
                    sets = find_sets(self.collection, batches, display, self.opened.folder)
                remember_sets(self.opened.folder, rows, sets)
            else:
                deque(batches, maxlen=0)  # the part of this process in making them
        found = torch.from_numpy(Copies.of_sets(sets or (), labels).stands_in)
        copies = Copies(processes.sent({"stands in": found})["stands in"].numpy())
        unlabelled = int((labels[copies.distinct] < 0).sum())
        if copies.extra and unlabelled < self.job.n_classes - self.collection.n_known:
            display.warn("hardly any two images differ: all of them count, though most look like copies of one photo")
        else:
            self.copies = copies

    @cached_property
    def held_out(self) -> np.ndarray:
        """Positions of the labelled images whose labels training does not see."""
        labels = np.full_like(self.collection.labels, UNLABELLED)
        labels[self.copies.distinct] = self.collection.labels[self.copies.distinct]
        return hold_out(labels, self.job.options.protocol.held_out, self.job.options.seed)

    @cached_property
    def labels(self) -> np.ndarray:
        """The labels training sees [N]."""
        labels = self.collection.labels.copy()
        labels[self.held_out] = UNLABELLED
        return labels

    @property
    def views(self) -> LabelledViews:
        """What is sorted: all images."""
        return LabelledViews(self.opened.source, self.rows, torch.from_numpy(self.labels))

    @property
    def learned_from(self) -> LabelledViews:
        """What is learned from: of near-duplicates one."""
        distinct = torch.from_numpy(self.copies.distinct)
        return LabelledViews(self.opened.source, self.rows[distinct], torch.from_numpy(self.labels)[distinct])

    def learner(self, method: Method) -> Learner:
        return Learner(self.backbone.tail, method, self.runtime, self.runtime.processes)

    def directions(self, positions: np.ndarray | None = None) -> np.ndarray:
        """The untrained features at length 1 [n, D], of all images or of those at some positions."""
        return directions(self.learner(Method()).features(self.views, positions))

    @property
    def unreadable(self) -> dict[str, str]:
        names = self.looked_at.names
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
        aside = dict.fromkeys(sorted(self.job.set_aside & {*images.names}), SET_ASIDE)
        return {**({} if isinstance(images, ImageArrays) else images.skipped), **self.unreadable, **aside}

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
            estimated=job.estimated,
            images=ImagesRecord(
                root=None if isinstance(images, ImageArrays) else str(images.root),
                count=len(collection) + len(self.rest),
                trained_on=len(collection) if len(self.rest) else None,
                labelled=int(collection.labelled.sum()),
                unreadable=self.unreadable,
                set_aside=tuple(sorted(job.set_aside & {*images.names})),
                digests=self.record.digests(),
            ),
        )


def prepare(job: Job, display: Quiet) -> Prepared:
    """Load the backbone, open the views and leave unreadable images out."""
    options = job.options
    runtime = open_runtime(options.device, options.protocol.precision, options.threads)
    name, train_blocks = options.protocol.backbone, options.protocol.train_blocks
    backbone = load_backbone(name, image_size=options.image_size, train_blocks=train_blocks)
    backbone = backbone.to(runtime.device)
    display.note(f"{name} on {runtime.describe()}")
    collection, rest = _parted(job)
    images = collection.images
    encoder = Encoder(backbone, runtime.device, runtime.precision, full_decode=options.protocol.decode == "full")
    storage = options.view_storage()
    if runtime.processes.count > 1:  # all must come to the same number of views, also while the disk fills up
        storage = replace(storage, disk_budget=runtime.processes.agreed(storage.budget()))
    with display.phases.during("encoding"):
        opened = open_views(encoder, images, storage, display, engine_for(options))
    rows = [row for row, name in enumerate(images.names) if row not in opened.unreadable and name not in job.set_aside]
    prepared = Prepared(job, runtime, backbone, opened, collection.keep(rows), torch.tensor(rows), images, rest)
    if prepared.unreadable:
        display.warn(left_out(prepared.unreadable))
    if not rows:
        raise UserError("none of the images can be read")
    return prepared


def _parted(job: Job) -> tuple[Collection, np.ndarray]:
    """What is learned from, and the positions of the images that are only sorted."""
    collection, count = job.collection, job.options.train_on
    if count is None or count >= len(collection):
        return collection, np.zeros(0, np.int64)
    chosen = trained_images(collection.labels, count, job.options.seed)
    rest = np.setdiff1d(np.arange(len(collection)), chosen)
    aside = [name in job.set_aside for name in collection.images.names] if job.set_aside else []
    return collection.keep(chosen), rest[~np.array(aside)[rest]] if aside else rest
