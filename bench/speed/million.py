"""A run of very many small images through the package's own functions, phase by phase, each in a process of its own.

``python -m bench.speed.scale --images 10000 100000 1000000 --folder DIR`` (see there). Images are 18 × 18 pixels, of
1,000 classes; the backbone leaves 36 mean colors of a view, so that what is measured is everything but a trunk.
"""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.speed.contest import AnonymousMemory, Figures
from legogcd.collection import Collection, Images, Truth, as_images
from legogcd.evaluation import scoring
from legogcd.report.page import report_outcome
from legogcd.run import Job, RunOptions, discover, pipeline, prepare
from legogcd.run.categories import current
from legogcd.run.predict import predict_run
from legogcd.training.loop import Learner
from legogcd.vision.backbones.backbone import Backbone, Normalization, Trunk, digest
from legogcd.vision.backbones.families import Family, register
from legogcd.vision.tail import State, TailInput
from legogcd.vision.views.rows import dense

CLASSES, KNOWN, SIDE, GRID = 1_000, 500, 18, 6
DIM = 3 * GRID**2
BATCH = 1_024


class ColorTrunk(Trunk):
    patch = GRID

    def encode(self, images: Tensor) -> State:
        return (functional.adaptive_avg_pool2d(images, GRID).flatten(1),)  # [N, 108]


class ColorTail(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(DIM, DIM)
        nn.init.eye_(self.linear.weight)

    def forward(self, state: TailInput) -> Tensor:
        made: Tensor = self.linear(dense(state[0], self.linear.weight.dtype))
        return made


def load_colors(name: str, image_size: int, train_blocks: int) -> Backbone:
    torch.manual_seed(0)
    settings: dict[str, Any] = {"name": name, "image_size": image_size, "train_blocks": train_blocks}
    return Backbone(
        ColorTrunk(),
        ColorTail(),
        fingerprint=digest({}, settings),
        family="mean colors",
        dim=DIM,
        normalization=Normalization(),
        state={"colors": True},
        **settings,
    )


register(Family("mean colors", recognizes=lambda name: name == "mean-colors", load=load_colors, known=()))


def make_images(folder: Path, count: int) -> None:
    """One array on the disk: 36 colors of each class that every image has in a version of its own, and noise."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    patterns = random.integers(0, 256, (CLASSES, GRID, GRID, 3), np.int16)
    cells = np.arange(SIDE) * GRID // SIDE
    images = np.lib.format.open_memmap(folder / "images.npy", "w+", np.uint8, (count, SIDE, SIDE, 3))
    for begin in range(0, count, CLASSES):
        own = patterns + random.integers(-120, 120, patterns.shape, np.int16)
        large = own[:, cells][:, :, cells] + random.integers(-20, 20, (CLASSES, SIDE, SIDE, 3), np.int16)
        images[begin : begin + CLASSES] = np.clip(large, 0, 255)
    images.flush()


def images_of(folder: Path) -> Images:
    return as_images(np.load(folder / "images.npy", mmap_mode="r"))


def opened(folder: Path) -> tuple[Collection, Truth]:
    """Half of the images of half of the classes are labelled."""
    images = images_of(folder)
    classes = np.arange(len(images)) % CLASSES
    known = tuple(f"c{number:04d}" for number in range(KNOWN))
    labelled = (classes < KNOWN) & (np.arange(len(images)) // CLASSES % 2 == 0)
    truth = Truth({name: f"c{number:04d}" for name, number in zip(images.names, classes.tolist(), strict=True)})
    return Collection(images, np.where(labelled, classes, -1), known), truth


def job_of(folder: Path) -> tuple[Job, Truth]:
    collection, truth = opened(folder)
    options = RunOptions(
        n_classes=CLASSES,
        method="legogcd",
        backbone="mean-colors",
        image_size=SIDE,
        views=2,
        epochs=1,
        start="kmeans",
        settings={"batch_size": BATCH, "projector_hidden": 64, "projector_out": 32},
        cache=folder / "cache",
        device="cpu",
        precision="fp32",
    )
    return Job(collection, options, "a million"), truth


def encode(folder: Path, _: int) -> None:
    from legogcd.display import Quiet

    prepare(job_of(folder)[0], Quiet())


def look_for_copies(folder: Path, _: int) -> None:
    from legogcd.display import Quiet

    prepare(job_of(folder)[0], Quiet()).find_copies(Quiet())


def run(folder: Path, _: int) -> dict[str, Figures]:
    """All of it: the start, an epoch, evaluation and matching, every image sorted, the run folder and the report."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    job, truth = job_of(folder)
    parts: dict[str, Figures] = {}
    Learner.settle = timed(parts, "k-means start", Learner.settle)  # type: ignore[method-assign]
    pipeline.train = timed(parts, "an epoch and its evaluation", pipeline.train)  # type: ignore[attr-defined]
    score = timed(parts, "matching", scoring(truth))
    outcome = timed(parts, "discover, all of it", discover)(job, folder / "run", score=score)
    timed(parts, "report of a sample", report_outcome)(outcome, job.collection.images, folder / "run")
    return parts


def timed(parts: dict[str, Figures], name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """The same, noting what it took the last time and the most memory meanwhile."""

    def watched(*given: Any, **named: Any) -> Any:
        began, used = time.perf_counter(), time.process_time()
        with AnonymousMemory() as memory:
            made = work(*given, **named)
        seconds, cpu = time.perf_counter() - began, time.process_time() - used
        parts[name] = {"seconds": seconds, "cpu": cpu, "memory": 2**20 * memory.peak_mb}
        return made

    return watched


def predict(folder: Path, _: int) -> None:
    out = folder / "all.parts"
    predict_run(folder / "run", images_of(folder), out, device="cpu")
    shutil.rmtree(out)


def look_again(folder: Path, _: int) -> None:
    """What every later command begins with: the run's table after the edits."""
    current(folder / "run")


PHASES: dict[str, Callable[[Path, int], Any]] = {
    "images are written (not ours)": make_images,
    "encode by shards": encode,
    "near-duplicates": look_for_copies,
    "discover and report": run,
    "predict into Parquet parts": predict,
    "the run's table read again": look_again,
}


def measured(phase: str, folder: Path, count: int) -> dict[str, Any]:
    """Seconds on the clock and of the processor, and those of a phase's parts; for a process of its own."""
    began, used = time.perf_counter(), time.process_time()
    parts = PHASES[phase](folder, count) or {}
    return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - used, "parts": parts}
