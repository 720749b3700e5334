"""What a run will cost on this machine, from a few seconds of doing it with a few of its images."""

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from legogcd.allocator import give_back
from legogcd.clustering import starts_for
from legogcd.collection import UNLABELLED, Collection, images_at
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.methods.recipes.legogcd_plus import LegoGCDPlusRecipe
from legogcd.run.effort import AUTO_EFFORT, EFFORTS
from legogcd.run.job import Job, Prepared, prepare
from legogcd.run.memory_need import Held, MemoryNeed, memory_need
from legogcd.run.options import RunOptions
from legogcd.run.own_process import own_memory
from legogcd.training.draw import MOST_CLUSTERED
from legogcd.training.loop import LabelledViews, train_epoch
from legogcd.training.optimizer import build_optimizer
from legogcd.vision.features import EVALUATION_BATCH
from legogcd.vision.views.encode import Encoder
from legogcd.vision.views.opening import affordable_views
from legogcd.vision.views.request import ViewRequest
from legogcd.vision.views.store import find_kept
from legogcd.wording import human_bytes, human_seconds

ASSUMED_CLASSES = 100  # where nobody says how many there are
_FIRST, _FEWEST, _MOST = 4, 16, 256  # images that are encoded: to see how long one takes, and then
_SECONDS = 5.0  # spent on encoding, and about as many on training
_STEPS = 4  # in one timing of training
_CLUSTERED = 4000  # random directions that are clustered


@dataclass(frozen=True)
class Plan:
    """Seconds, bytes and counts of a run; ``encode`` is 0 where the views are kept already."""

    images: int
    views: int
    steps: int
    epochs: int
    encode: float
    start: float
    step: float
    settling: float
    evaluation: float
    disk: int
    memory: MemoryNeed
    kept: bool
    until_flat: bool = False

    @property
    def train(self) -> float:
        """Seconds from kept views to a result: where prototypes start and settle, all steps, a last look at all."""
        return self.start + self.epochs * self.steps * self.step + self.settling + self.evaluation

    @property
    def total(self) -> float:
        return self.encode + self.train

    def lines(self) -> list[str]:
        """For people."""
        each = f"{self.steps} steps an epoch, {1000 * self.step:.0f} ms each"
        most = "at most " if self.until_flat else ""
        views = f"{self.views} views and the evaluation view of {self.images} images"
        encode = "nothing to do: they are kept already" if self.kept else human_seconds(self.encode)
        return [
            f"keeping    {encode} ({views})",
            f"disk       {human_bytes(self.disk)}",
            f"training   {human_seconds(self.train)} ({most}{self.epochs} epochs of {each})",
            f"memory     {human_bytes(self.memory.most)} ({self._phases()})",
            f"in all     {human_seconds(self.total)}",
        ]

    def _phases(self) -> str:
        return ", ".join(f"{phase} {human_bytes(amount)}" for phase, amount in self.memory.phases())


def assumed_job(images: Path, options: RunOptions) -> Job:
    """A job without labels: half of the classes count as known and half of the images as labelled."""
    found = images_at(images)
    n_classes = options.n_classes
    if not isinstance(n_classes, int):
        n_classes = min(ASSUMED_CLASSES, max(2, len(found) // 2))
    n_known = max(1, n_classes // 2)
    rows = np.arange(len(found))
    labels = np.where(rows % 2, UNLABELLED, rows % n_known)
    known = tuple(f"class {number}" for number in range(n_known))
    effort = "normal" if options.effort == AUTO_EFFORT else options.effort  # no label says how hard it is
    return Job(Collection(found, labels, known), options.changed(n_classes=n_classes, effort=effort))


def plans(job: Job, display: Quiet | None = None) -> dict[str, Plan]:
    """The plan of each effort, the job's own measured first; of that alone where its recipe or method has no other."""
    display, own = display or Quiet(), job.options.effort
    if job.options.recipe != "default" or not job.recipe.epochs:
        return {own: plan(job, display)}
    found = {own: plan(job, display)}
    measured = {_trained(job): found[own]}
    for effort in (name for name in EFFORTS if name != own):
        other = job.changed(effort=effort)
        display.note(f"the same with --effort {effort}")
        found[effort] = plan(other, like=measured.get(_trained(other)))
        measured.setdefault(_trained(other), found[effort])
    return {effort: found[effort] for effort in EFFORTS}


def _trained(job: Job) -> tuple[str, int]:
    """What decides how long a step takes: the backbone, and how many of its blocks learn."""
    return job.options.protocol.backbone, job.options.protocol.train_blocks


def effort_lines(found: Mapping[str, Plan]) -> list[str]:
    """For people who may choose: one line for each effort."""
    if len(found) < 2:
        return []
    return [
        f"{effort:<10} {human_seconds(each.total)}, {human_bytes(each.disk)} of disk with --effort {effort}"
        for effort, each in found.items()
    ]


def plan(job: Job, display: Quiet | None = None, like: Plan | None = None) -> Plan:
    """Measure what the job's parts take with a sample of its images, and add up what the whole will.

    The time of scoring after every epoch and of the report comes on top. Training is taken from ``like``, a plan for
    the same images, method and backbone, where there is one.
    """
    display, count, views = display or Quiet(), len(job.collection), job.options.protocol.views
    storage = job.options.view_storage()
    if views == "fresh":
        raise UserError("only runs with kept views can be planned; --views fresh encodes everything anew each epoch")
    if job.options.n_classes == "auto":
        job = job.changed(n_classes=max(job.collection.n_known, min(ASSUMED_CLASSES, count // 2)))
    job.collection.check(job.n_classes)
    with tempfile.TemporaryDirectory() as folder:
        display.note("encoding a few images")
        prepared, per_image = _encode_some(job, Path(folder))
        if like is None:
            encoding = own_memory()
            give_back()
            loaded = own_memory()
            display.note("training on them")
            step, evaluation = _train_some(prepared, count)
            training = own_memory()
            give_back()
            memory = _memory(job, Held(loaded, encoding, training, own_memory()), prepared.backbone.dim)
        else:
            step, evaluation, memory = like.step, like.evaluation / count, like.memory
    backbone, runtime = prepared.backbone, prepared.runtime
    start, settling = _group_some(job, backbone.dim)
    encoder = Encoder(backbone, runtime.device, runtime.precision, job.options.protocol.decode == "full")
    request = ViewRequest(encoder, job.collection.images, views, storage.seed, storage.dtype, storage.by_content)
    kept = find_kept(request, storage.folder, display.warn) is not None
    if not kept and affordable_views(count, request.bytes_per_view, views, storage.budget()) != views:
        display.warn(f"{human_bytes(request.size_on_disk)} are more than the disk budget allows (--disk-budget)")
    return Plan(
        images=count,
        views=views,
        steps=count // min(job.recipe.batch_size, count),
        epochs=job.recipe.epochs,
        encode=0.0 if kept else count * per_image,
        start=start + (count * evaluation if start else 0.0),
        step=step,
        settling=settling + (count * (1 + views) * evaluation if settling else 0.0),
        evaluation=count * evaluation,
        disk=request.size_on_disk,
        memory=memory,
        kept=kept,
        until_flat=job.recipe.until_flat,
    )


def _memory(job: Job, held: Held, dim: int) -> MemoryNeed:
    collection, recipe = job.collection, job.recipe
    clustered = min(len(collection), MOST_CLUSTERED) if recipe.start == "kmeans" else 0
    width = recipe.whitened_width(job.n_classes) if isinstance(recipe, LegoGCDPlusRecipe) else 0
    labelled, seen = int(collection.labelled.sum()), min(width, dim) or None
    return memory_need(held, len(collection), labelled, job.n_classes, dim, clustered, seen)


def _encode_some(job: Job, folder: Path) -> tuple[Prepared, float]:
    """A sample of the collection with its views kept in ``folder``, and the seconds one image took."""
    order = np.random.default_rng(0).permutation(len(job.collection))
    first = _keep(job, order[:_FIRST], folder / "first")  # the first images are slow: memory is asked for
    count = int(np.clip(_SECONDS * _FIRST / first.opened.seconds, _FEWEST, _MOST))
    sample = order[:count] if len(order) <= count + _FIRST else order[_FIRST : _FIRST + count]
    prepared = _keep(job, sample, folder / "sample")
    return prepared, prepared.opened.seconds / len(sample)


def _keep(job: Job, rows: np.ndarray, folder: Path) -> Prepared:
    images = job.collection.images.subset(rows)
    labels = np.where(np.arange(len(rows)) % 2, -1, np.arange(len(rows)) % job.collection.n_known)
    sample = Collection(images, labels, job.collection.known)
    return prepare(replace(job, collection=sample).changed(cache=folder), Quiet())


def _train_some(prepared: Prepared, n_images: int) -> tuple[float, float]:
    """Seconds of a step at the job's batch size, and of an image's evaluation."""
    job, recipe = prepared.job, prepared.job.recipe
    method = prepared.model().method
    places = torch.arange(_STEPS * min(recipe.batch_size, n_images)) % len(prepared.rows)
    labels = torch.where(places % 2 == 0, places % max(1, job.collection.n_known), -1)
    learner = prepared.learner(method)
    views = LabelledViews(prepared.opened.source, prepared.rows[places], labels)
    step = 0.0
    if recipe.epochs:
        optimizer = build_optimizer(learner.tail, method, recipe)
        step = _typical(lambda: train_epoch(learner, views, optimizer, recipe, seed=0, epoch=0)) / _STEPS
    evaluated = torch.arange(2 * EVALUATION_BATCH) % len(places)
    evaluation = _typical(lambda: list(learner.evaluation_features(views, evaluated))) / len(evaluated)
    return step, evaluation


def _group_some(job: Job, dim: int) -> tuple[float, float]:
    """Seconds in which prototypes find where to start and where to settle, from a smaller search in random features."""
    if job.recipe.start != "kmeans" or not job.recipe.epochs:
        return 0.0, 0.0
    whole = min(len(job.collection), MOST_CLUSTERED)
    part = min(whole, _CLUSTERED)
    random = np.random.default_rng(0)
    centers = random.normal(size=(job.n_classes, dim))
    features = (centers[np.arange(part) % job.n_classes] + random.normal(size=(part, dim))).astype(np.float32)
    classes = np.arange(part) % job.n_classes
    labels = np.where((np.arange(part) // job.n_classes % 2 == 0) & (classes < job.collection.n_known), classes, -1)
    method = job.build_method(dim)
    share = part * starts_for(part, job.n_classes) / (whole * starts_for(whole, job.n_classes))
    start = _seconds(lambda: method.start(features, labels, 0)) / share
    settles = method.settles(len(job.collection))
    return start, _seconds(lambda: method.finish(features, labels, 0)) * whole / part if settles else 0.0


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _typical(work: Callable[[], object], times: int = 3) -> float:
    """Seconds of the middle one of some tries after a first one, which is slow."""
    work()
    return sorted(_seconds(work) for _ in range(times))[times // 2]
