"""Each phase of a run of 100,000 images, 1,000 classes and the default backbone, for a process of its own each.

What is made up is what costs time and no memory: pixels, kept views (zeros in sparse files), features, predictions.
Everything that holds memory is the package's own. `shortened` leaves out repetitions, which hold no more of it.
"""

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import torch

from bench.speed.contest import AnonymousMemory
from bench.speed.kept import EFFICIENTNET, write_noise
from legogcd.clustering import Clustering
from legogcd.clustering.kmeans import exchange
from legogcd.clustering.kmeans.seeding import Seeding
from legogcd.collection import Collection
from legogcd.collection.images import ImageArrays
from legogcd.evaluation import Scorer
from legogcd.methods import Method, build_method, default_recipe, kmeans_start
from legogcd.methods.legogcd_plus import known_share
from legogcd.report.page import layout_map, report_outcome, thumbnails
from legogcd.run import RunOptions, pipeline
from legogcd.run.config import ImagesRecord, RunConfig
from legogcd.run.discovery import Discovery, write_predictions
from legogcd.run.job import Prepared
from legogcd.run.model import Model
from legogcd.run.near_duplicates import Copies
from legogcd.run.own_process import own_memory
from legogcd.run.runtime import open_runtime
from legogcd.training.draw import MOST_CLUSTERED
from legogcd.training.loop import LabelledViews, Learner, train
from legogcd.training.optimizer import build_optimizer
from legogcd.vision import Encoder, KeptViews, ViewRequest, load_backbone
from legogcd.vision.features import EVALUATION_BATCH, stacked
from legogcd.vision.tail import TailInput
from legogcd.vision.views.rows import dense
from legogcd.vision.views.store import encode_shard

IMAGES, CLASSES, KNOWN, VIEWS = 100_000, 1_000, 500, 4
LARGE_BATCH = 1_024
METHOD, BACKBONE, FAMILY = "legogcd+", "efficientnet-lite0", "efficientnet"
NAMES = tuple(f"c{number:04d}" for number in range(KNOWN))


class Pictures:
    """A sequence of photos that are made when they are asked for."""

    def __init__(self, count: int, height: int, width: int) -> None:
        self.count, self.shape = count, (height, width, 3)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, row: int) -> np.ndarray:
        if not 0 <= row < self.count:
            raise IndexError(row)
        return np.random.default_rng(row).integers(0, 256, self.shape, np.uint8)


def labels_of(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes [N], and labels [N] of half of the images of the known ones."""
    classes = np.arange(count) % CLASSES
    return classes, np.where((classes < KNOWN) & (np.arange(count) // CLASSES % 2 == 0), classes, -1)


def made_up(rows: np.ndarray, dim: int) -> Iterator[torch.Tensor]:
    """Features [n, D] of images in batches: what tells classes apart lies along fewer axes than the noise."""
    random, axes = np.random.default_rng(0), np.arange(1, dim + 1)
    centers = random.standard_normal((CLASSES, dim), np.float32) * (axes**-0.7).astype(np.float32)
    spread = (0.3 * axes**-0.3).astype(np.float32)
    for begin in range(0, len(rows), EVALUATION_BATCH):
        some = rows[begin : begin + EVALUATION_BATCH]
        yield torch.from_numpy(centers[some % CLASSES] + spread * random.standard_normal((len(some), dim), np.float32))


def built(dim: int, method: str = METHOD) -> Method:
    torch.manual_seed(0)
    return build_method(method, dim, CLASSES, KNOWN, default_recipe(method, FAMILY))


def encoding(folder: Path, images: int = 256) -> None:
    """Some images of very many, from pixels to kept views."""
    encoder = Encoder(load_backbone(BACKBONE), torch.device("cpu"), "fp32")
    request = ViewRequest(encoder, ImageArrays.lazily(Pictures(IMAGES, 375, 500)), VIEWS)
    with patch("legogcd.vision.views.shards.SHARD_IMAGES", images):
        folder.mkdir(parents=True, exist_ok=True)
        encode_shard(request, folder, request.shards()[0])


def start(_: Path) -> None:
    """The prototypes' start, from as many features as a run clusters."""
    backbone = load_backbone(BACKBONE)
    learner = Learner(backbone.tail, built(backbone.dim), open_runtime("cpu", "fp32"))
    batches = made_up(np.arange(MOST_CLUSTERED), backbone.dim)
    views = LabelledViews(cast(Any, None), torch.arange(IMAGES), torch.from_numpy(labels_of(IMAGES)[1]))
    with patch.object(Learner, "evaluation_features", lambda *_: batches):
        learner.settle(learner.method.start, views, np.arange(MOST_CLUSTERED), views.labels.numpy(), seed=0)


def training(folder: Path, steps: int = 100) -> None:
    """Some steps of an epoch over views of all images, kept in files that take no disk."""
    write_noise(folder / "kept", IMAGES, VIEWS, "bf16", sparse=True, kept=EFFICIENTNET)
    backbone = load_backbone(BACKBONE)
    learner = Learner(backbone.tail, built(backbone.dim), open_runtime("cpu", "fp32"))
    recipe = default_recipe(METHOD, FAMILY).with_settings({"epochs": 1})
    optimizer = build_optimizer(learner.tail, learner.method, recipe)
    labels = torch.from_numpy(labels_of(IMAGES)[1])
    with stopped_after(steps, optimizer):
        train(learner, LabelledViews(KeptViews(folder / "kept"), torch.arange(IMAGES), labels), optimizer, recipe, 0)


class Enough(Exception):  # noqa: N818
    """As many steps as wanted."""


@contextmanager
def stopped_after(steps: int, optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Whatever trains inside makes so many steps and no more."""
    left = iter(range(steps - 1))

    def count(*_: object) -> None:
        if next(left, None) is None:
            raise Enough

    hook = optimizer.register_step_post_hook(count)
    with suppress(Enough):
        yield
    hook.remove()


def sorting(folder: Path) -> None:
    """Every image's class, how sure and how usual it is; scores; the table of a run."""
    model, (classes, labels) = model_of("legogcd"), labels_of(IMAGES)  # one whitening less to wait for
    images, batches = ImageArrays.lazily(Pictures(IMAGES, 8, 8)), made_up(np.arange(IMAGES), model.backbone.dim)
    prepared = SimpleNamespace(
        collection=Collection(images, labels, NAMES),
        labels=labels,
        views=None,
        learner=lambda _: SimpleNamespace(evaluation_features=lambda _: batches),
        rows=np.arange(IMAGES),
        copies=Copies.none(IMAGES),
        job=SimpleNamespace(n_classes=CLASSES),
        unreadable={},
    )
    discovery, _, _ = pipeline._sort(cast(Prepared, prepared), model)
    Scorer(classes, KNOWN)(discovery.predicted)
    folder.mkdir(parents=True, exist_ok=True)
    write_predictions(folder, discovery)


def report(folder: Path) -> None:
    """The run folder of a run that has just ended, and its page, which is of a sample."""
    model, (classes, labels) = model_of(), labels_of(IMAGES)
    images = ImageArrays.lazily(Pictures(IMAGES, 32, 32))
    confidence = np.random.default_rng(0).random(IMAGES).astype(np.float32)
    recipe = default_recipe(METHOD, FAMILY).model_dump(mode="json")
    outcome = pipeline.Outcome(
        Discovery(images.names, labels, classes, confidence, NAMES, CLASSES),
        model,
        [{"epoch": 1, "loss": 1.0, "terms": {}, "selected": {}, "selected_by_step": []}],
        RunConfig(
            options=RunOptions(n_classes=CLASSES, method=METHOD, backbone=BACKBONE),
            method=METHOD,
            recipe=recipe,
            weights=model.backbone.fingerprint(),
            known=NAMES,
            images=ImagesRecord(count=IMAGES, labelled=int((labels >= 0).sum())),
        ),
        features_at=lambda rows: stacked(made_up(rows, model.backbone.dim), len(rows)),
    )
    pipeline.save_run(outcome, folder / "run")
    report_outcome(outcome, images, folder / "run")


def model_of(method: str = METHOD) -> Model:
    backbone = load_backbone(BACKBONE)
    runtime = open_runtime("cpu", "fp32")
    return Model(backbone, built(backbone.dim, method), NAMES, CLASSES, "bf16", runtime)


class NoViews:
    """A source whose views are zeros."""

    def pair(self, rows: torch.Tensor, *_: object) -> TailInput:
        return (torch.zeros(2 * len(rows), 64),)

    def evaluation(self, rows: torch.Tensor) -> TailInput:
        return (torch.zeros(len(rows), 64),)


class FirstOf(torch.nn.Linear):
    def forward(self, state: TailInput) -> torch.Tensor:
        return super().forward(dense(state[0], torch.float32))


class AllocatedBytes(ctypes.Structure):
    """glibc's ``struct mallinfo2``."""

    NAMES = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    _fields_ = tuple((name, ctypes.c_size_t) for name in NAMES)


def tells_allocated() -> bool:
    return sys.platform.startswith("linux") and hasattr(ctypes.CDLL(None), "mallinfo2")


def allocated() -> int:
    """Bytes that are in use, to the last one: holes of the heap and pages of the system do not count."""
    count = ctypes.CDLL(None).mallinfo2
    count.restype = AllocatedBytes
    found = count()
    return int(found.uordblks + found.hblkhd)


def many_steps(steps: int) -> list[int]:
    """Allocated bytes after each step."""
    settings = {"epochs": 1, "batch_size": LARGE_BATCH, "projector_hidden": 64, "projector_out": 32}
    settings["settle"] = False  # which is not a step
    recipe = default_recipe(METHOD, FAMILY).with_settings(settings)
    learner = Learner(FirstOf(64, 64), build_method(METHOD, 64, CLASSES, KNOWN, recipe), open_runtime("cpu", "fp32"))
    optimizer = build_optimizer(learner.tail, learner.method, recipe)
    held: list[int] = []
    optimizer.register_step_post_hook(lambda *_: held.append(allocated()))
    labels = torch.from_numpy(labels_of(LARGE_BATCH * steps)[1])
    train(learner, LabelledViews(NoViews(), torch.arange(len(labels)), labels), optimizer, recipe, 0)
    return held


PHASES: dict[str, Callable[[Path], None]] = {
    "encoding": encoding,
    "start": start,
    "training": training,
    "sorting": sorting,
    "report": report,
}


@contextmanager
def shortened() -> Iterator[None]:
    """One k-means start at random points, few passes, one turn of the labels, a map of few images, no thumbnails."""
    turns, search = known_share._turns, kmeans_start.semi_supervised_kmeans

    def short_search(*given: Any, **named: Any) -> Clustering:
        return search(*given, **{**named, "n_init": 1, "max_iter": 2})

    with (
        patch.dict(PHASES, encoding=partial(encoding, images=24), training=partial(training, steps=10)),
        patch.object(kmeans_start, "semi_supervised_kmeans", short_search),
        patch.object(Seeding, "_best", lambda _, tried, cost: (tried[:, 0], cost)),
        patch.object(exchange, "_PASSES", 1),
        patch.object(known_share, "divisions_for", lambda *_: 1),
        patch.object(known_share, "_turns", lambda *given: iter([next(turns(*given))])),
        patch.object(layout_map, "_LAID_OUT", 200),
        patch.object(thumbnails, "small_picture", lambda *_: bytes(900)),
        patch.object(import_module("legogcd.report.page.findings.groups_like_two"), "_FEWEST", IMAGES),
    ):
        yield


def measured(phase: str, folder: Path, threads: int = 1) -> tuple[int, int]:
    """Bytes before and at most during one phase, mapped files apart."""
    torch.set_num_threads(threads)
    load_backbone(BACKBONE)
    before = own_memory()
    with AnonymousMemory() as memory:
        PHASES[phase](folder)
    return before, int(2**20 * memory.peak_mb)


def shortly(phase: str, folder: Path, threads: int = 1) -> tuple[int, int]:
    """The same with less time and as much memory."""
    with shortened():
        return measured(phase, folder, threads)
