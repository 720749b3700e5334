"""The demo: scikit-learn's handwritten digits, five of ten known, sorted four ways from one set of kept views."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from legogcd.clustering import kmeans
from legogcd.collection import find_images, from_folders
from legogcd.display import Screen
from legogcd.evaluation import scoring
from legogcd.report import draw_contact_sheet, draw_curves
from legogcd.run import Job, RunOptions, discover, prepare
from legogcd.run.evaluating import forgotten
from legogcd.wording import percent

KNOWN_DIGITS = ("0", "1", "2", "3", "4")
DIGITS = 1797
OPTIONS = RunOptions(n_classes=10, image_size=96, held_out=0)  # digits of 8 × 8 pixels: a larger input only costs time


def run_demo(out: Path, seed: int, say: Callable[[str], None]) -> None:
    """Write the digits as pictures, sort them, and print the table."""
    out = _free(out)
    images = write_digits(out / "digits", DIGITS)
    display = Screen()
    collection, truth = from_folders(find_images(images), KNOWN_DIGITS)
    score = scoring(truth)
    rows: list[tuple[str, dict[str, Any], float | None]] = []
    for method in ("simgcd", "legogcd", "legogcd+"):
        job = Job(collection, OPTIONS.changed(method=method, cache=out / "kept-views", seed=seed))
        if not rows:
            rows.append(("k-means", _kmeans_scores(job, score), None))
        outcome = discover(job, out / method, score=score, display=display)
        draw_curves(outcome.metrics, out / method / "curves.png", f"digits: {method}, seed {seed}")
        draw_contact_sheet(outcome.discovery, collection.images, out / method / "groups.png")
        rows.append((method, outcome.metrics[-1], forgotten(outcome.metrics)))
    say(f"\n{collection.labelled.sum()} of {len(collection)} digits labelled (0-4); scored on the others, seed {seed}")
    say(f"{'':<10}{'All':>7}{'Old':>7}{'New':>7}{'forgetting of Old':>20}")
    for name, scores, lost in rows:
        cells = "".join(f"{percent(scores[part]):>7}" for part in ("all", "old", "new"))
        say(f"{name:<10}{cells}{percent(lost):>20}")
    best = out / "legogcd+"
    say(f"pictures: {best / 'groups.png'} (what was found), {best / 'curves.png'} (by epoch)")
    say("your own photos: legogcd discover photos --labels labels.csv --classes auto --out run (legogcd discover -h)")
    say("digits need no more than the built-in backbone; photos gain from --backbone auto, where DINOv2 can be had")
    say(f"the digits themselves: {images}; the other runs: {out / 'legogcd'}, {out / 'simgcd'}")


def write_digits(folder: Path, count: int) -> Path:
    """The first ``count`` digits as PNG, 64 × 64, one folder per class."""
    digits = load_digits()
    for number, (image, target) in enumerate(zip(digits.images[:count], digits.target[:count], strict=True)):
        place = folder / str(target)
        place.mkdir(parents=True, exist_ok=True)
        grey = Image.fromarray((image * (255 / 16)).astype(np.uint8))
        grey.resize((64, 64), Image.Resampling.BICUBIC).save(place / f"{number:04d}.png")
    return folder


def _kmeans_scores(job: Job, score: Callable[..., dict[str, float | None]]) -> dict[str, float | None]:
    prepared = prepare(job, Screen())
    return score(prepared.collection, kmeans(prepared.directions(), job.n_classes, seed=job.options.seed).labels)


def _free(folder: Path) -> Path:
    for number in range(1, 1000):
        candidate = folder if number == 1 else folder.with_name(f"{folder.name}-{number}")
        if not candidate.exists():
            return candidate
    raise FileExistsError(folder)
