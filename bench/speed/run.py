"""A whole CUB-sized run, ours against the published recipe, from measured parts: ``python -m bench.speed.run``.

5,994 images of which 1,500 are labelled, K = 200, 200 epochs of 46 steps of 128 images. Nothing of that length is run:
each part is timed and multiplied.

Plain = 200 · (46 steps + evaluation), both by views through `PlainRecipe`; it evaluates the 4,494 unlabelled images.
Ours  = the V views and the evaluation view of every image, encoded and written (decoding JPEG files of CUB's size,
        cropping, trunk, disk: `encode_missing`) + 200 · (46 steps over kept views + evaluation of all images).
The plain side is not charged for decoding, cropping or starting up.
"""

import argparse
import itertools
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from bench.speed import tail
from bench.speed.contest import Contender, Figures, answer, by_turns, said, spread

N_IMAGES, UNLABELLED, EPOCHS, STEPS, VIEWS_A_STEP, KEPT = 5994, 4494, 200, 46, 256, (4, 8)
FILES = 12  # encoded in one timing, with 4 views each


def main() -> None:
    options = read_options()
    if options.child:
        return answer(keeping(options))
    report(measure(options))
    return None


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    return tail.options_of("bench.speed.run", __doc__, repeats=2).parse_args(arguments)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        tail.prepare(Path(folder))
        write_pictures(Path(folder) / "pictures")
        names = ("plain", "plain evaluation", "kept bf16", "evaluation bf16")
        contenders = {name: tail.start(name, folder, options) for name in names}
        arguments = ["--folder", folder, "--precision", options.precision]
        contenders["keeping"] = Contender("bench.speed.run", "keeping", arguments, OMP_NUM_THREADS=str(options.threads))
        rounds = by_turns(contenders, options.repeats)
    return extrapolation(rounds, options.clock) | {"threads": options.threads, "load": os.getloadavg()[0]}


def extrapolation(rounds: list[dict[str, Figures]], clock: str) -> dict[str, Any]:
    """Hours of both runs and their ratio, by V."""

    def per_view(one: dict[str, Figures], name: str) -> float:
        return one[name][clock] / one[name]["views"]

    def plain(one: dict[str, Figures]) -> float:
        steps = STEPS * VIEWS_A_STEP * per_view(one, "plain")
        return EPOCHS * (steps + UNLABELLED * per_view(one, "plain evaluation"))

    def ours(one: dict[str, Figures], views: int) -> dict[str, float]:
        return {
            "encoding": N_IMAGES * (1 + views) * per_view(one, "keeping"),
            "steps": EPOCHS * STEPS * VIEWS_A_STEP * per_view(one, "kept bf16"),
            "evaluation": EPOCHS * N_IMAGES * per_view(one, "evaluation bf16"),
        }

    def of_ours(views: int) -> dict[str, Any]:
        parts = [ours(one, views) for one in rounds]
        return {
            "parts_hours": {part: spread(one[part] / 3600 for one in parts) for part in parts[0]},
            "hours": spread(sum(one.values()) / 3600 for one in parts),
            "ratio": spread(plain(one) / sum(ours(one, views).values()) for one in rounds),
        }

    names = rounds[0]
    return {
        "clock": clock,
        "ms_per_view": {name: spread(1e3 * per_view(one, name) for one in rounds) for name in names},
        "plain_hours": spread(plain(one) / 3600 for one in rounds),
        "ours": {str(views): of_ours(views) for views in KEPT},
    }


def write_pictures(folder: Path) -> None:
    """Smooth noise as JPEG files of 500 × 375 pixels."""
    folder.mkdir()
    random = np.random.default_rng(0)
    for number in range(FILES):
        small = Image.fromarray(random.integers(0, 255, (38, 50, 3), np.uint8))
        small.resize((500, 375), Image.Resampling.BICUBIC).save(folder / f"{number:02d}.jpg", quality=90)


def keeping(options: argparse.Namespace) -> Callable[[], int]:
    from legogcd.collection import find_images
    from legogcd.vision import Encoder, ViewRequest, encode_missing, load_backbone

    encoder = Encoder(load_backbone(str(options.folder / "vit")), torch.device("cpu"), options.precision)
    images, turns = find_images(options.folder / "pictures"), itertools.count()

    def work() -> int:
        encode_missing(ViewRequest(encoder, images, KEPT[0]), options.folder / f"cache-{next(turns)}")
        return FILES * (1 + KEPT[0])

    return work


def report(figures: dict[str, Any]) -> None:
    print(
        f"{figures['threads']} threads, torch {torch.__version__}, load {figures['load']:.1f}, {figures['clock']} time"
    )
    for name, milliseconds in figures["ms_per_view"].items():
        print(f"{name:17s} {said(milliseconds, 3):32s} ms a view")
    print(f"plain: {said(figures['plain_hours'])} hours")
    for views, one in figures["ours"].items():
        parts = ", ".join(f"{part} {hours['median']:.2f}" for part, hours in one["parts_hours"].items())
        print(f"V = {views}: {said(one['hours'], 2)} hours ({parts}), plain / ours {said(one['ratio'])}")


if __name__ == "__main__":
    sys.exit(main())
