"""A run of very many small images through the package's own functions, phase by phase, each in a process of its own.

``python -m bench.speed.scale --images 10000 100000 1000000 --folder DIR`` (see there). Images are 18 × 18 pixels, of
1,000 classes; the backbone leaves 48 mean colors of a view, so that what is measured is everything but a trunk.
"""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from legogcd.collection import Collection, Images, Truth, as_images
from legogcd.evaluation import scoring
from legogcd.report.page import report_outcome
from legogcd.run import Job, RunOptions, discover, prepare
from legogcd.run.categories import current
from legogcd.run.predict import predict_run
from legogcd.training.files import TIMING
from legogcd.training.loop import Learner
from legogcd.vision.backbones.backbone import Backbone, Normalization, Trunk, digest
from legogcd.vision.backbones.families import Family, register
from legogcd.vision.tail import State, TailInput
from legogcd.vision.views.rows import dense

CLASSES, KNOWN, SIDE, GRID = 1_000, 500, 18, 4
DIM = 3 * GRID**2
BATCH = 1_024


class ColorTrunk(Trunk):
    patch = GRID

    def encode(self, images: Tensor) -> State:
        return (functional.adaptive_avg_pool2d(images, GRID).flatten(1),)  # [N, 48]


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
    """One array on the disk: 16 colors of each class that every image has in a version of its own, and noise."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    patterns = random.integers(0, 256, (CLASSES, GRID, GRID, 3), np.int16)
    cells = np.arange(SIDE) * GRID // SIDE
    images = np.lib.format.open_memmap(folder / "images.npy", "w+", np.uint8, (count, SIDE, SIDE, 3))
    for begin in range(0, count, CLASSES):
        own = patterns + random.integers(-90, 90, patterns.shape, np.int16)
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
        image_size=16,
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


def run(folder: Path, _: int) -> dict[str, float]:
    """All of it: the start, an epoch, evaluation and matching, every image sorted, the run folder and the report."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    job, truth = job_of(folder)
    spent: dict[str, float] = {}
    score, settle = scoring(truth), Learner.settle

    def start(*given: Any) -> None:
        began = time.perf_counter()
        settle(*given)
        spent["k-means start"] = time.perf_counter() - began

    def timed(collection: Collection, predicted: np.ndarray) -> dict[str, float | None]:
        began = time.perf_counter()
        found = score(collection, predicted)
        spent["matching"] = time.perf_counter() - began
        return found

    Learner.settle = start  # type: ignore[method-assign]

    outcome = discover(job, folder / "run", score=timed)
    began = time.perf_counter()
    report_outcome(outcome, job.collection.images, folder / "run")
    spent["report"] = time.perf_counter() - began
    times = [json.loads(line) for line in (folder / "run" / TIMING).read_text().splitlines()]
    return {**spent, "epoch": next(entry["seconds"] for entry in times if entry["what"] == "epoch")}


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
    "discover: k-means start, an epoch, evaluation, run folder, report": run,
    "predict into Parquet parts": predict,
    "the run's table read again": look_again,
}


def measured(phase: str, folder: Path, count: int) -> dict[str, Any]:
    """Seconds on the clock and of the processor, and what the phase itself told; for a process of its own."""
    began, used = time.perf_counter(), time.process_time()
    told = PHASES[phase](folder, count)
    return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - used, **(told or {})}
