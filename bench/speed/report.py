"""The report of a run that has just ended, by part: ``python -m bench.speed.report --images photos``.

Pictures, made up or real, linked again under other names until there are enough, and made-up features of 40 groups,
which a run hands over. Each size has a process of its own. Seconds of the processor, so what one core needs, by part;
the memory is the most that the process had of its own.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.speed.command import made_up
from bench.speed.contest import said, spread
from legogcd.collection import ImageFiles, find_images
from legogcd.methods import published_recipe
from legogcd.report.page import PageImages
from legogcd.run.config import ImagesRecord, RunConfig, write_config
from legogcd.run.discovery import Discovery, write_predictions
from legogcd.run.options import RunOptions
from legogcd.run.own_process import in_own_process

SIZES, GROUPS, DIM, METHOD = (316, 1_435, 10_000), 40, 1280, "legogcd+"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.report", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=Path, help="a folder of photos; made-up ones otherwise")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    report(measure(options.images, options.sizes, options.repeats))


def measure(images: Path | None, sizes: Sequence[int] = SIZES, repeats: int = 1) -> dict[str, Any]:
    """Seconds of the processor by part, and megabytes, by number of images."""
    with tempfile.TemporaryDirectory() as folder:
        pictures = images or made_up(Path(folder))
        rounds = [{size: in_own_process(one_report, pictures, size) for size in sizes} for _ in range(repeats)]
    found = {}
    for size in sizes:
        parts = rounds[0][size][0]
        found[str(size)] = {
            "cpu_seconds": {part: spread(one[size][0][part] for one in rounds) for part in parts},
            "peak_mb": max(one[size][1] for one in rounds) / 1e6,
        }
    return {"load": os.getloadavg()[0], "sizes": found}


def one_report(images: Path, count: int) -> dict[str, float]:
    """The processor's seconds of all of a report and of its parts."""
    from legogcd.report.page import assemble

    spent: dict[str, float] = {}

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def done(*given: Any) -> Any:
            began = time.process_time()
            try:
                return work(*given)
            finally:
                spent[name] = time.process_time() - began

        return done

    assemble.map_points = timed("map", assemble.map_points)  # type: ignore[assignment]
    assemble.make_thumbnails = timed("thumbnails", assemble.make_thumbnails)  # type: ignore[assignment]
    assemble._findings = timed("findings", assemble._findings)
    with tempfile.TemporaryDirectory() as folder:
        run, shown = made_up_run(Path(folder), images, count)
        began = time.process_time()
        assemble.build_report(run, shown, Path(folder) / "report.html")
        whole = time.process_time() - began
    return {**spent, "the rest": whole - sum(spent.values()), "in all": whole}


def made_up_run(folder: Path, images: Path, count: int, n_classes: int = GROUPS) -> tuple[Path, PageImages]:
    """A finished run of ``count`` pictures as far as a report needs it."""
    found = find_images(images)
    names = [f"{number // len(found):04d}/{found.names[number % len(found)]}" for number in range(count)]
    for name in names:
        link = folder / "pictures" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to((images / name.split("/", 1)[1]).resolve())
    random = np.random.default_rng(0)
    group = random.integers(n_classes, size=count)
    centers = random.normal(size=(n_classes, DIM)).astype(np.float32)
    features = centers[group] + random.normal(size=(count, DIM)).astype(np.float32)
    probabilities = np.full((count, n_classes), 0.2 / n_classes, np.float32)
    probabilities[np.arange(count), group] += 0.8
    n_known = n_classes // 2
    known = tuple(f"class {number}" for number in range(n_known))
    labels = np.where((group < n_known) & (np.arange(count) % 2 == 0), group, -1)
    run = folder / "run"
    run.mkdir()
    write_predictions(run, Discovery(tuple(names), labels, group, probabilities.max(1), known, n_classes))
    record = ImagesRecord(root=str(folder / "pictures"), count=count, labelled=int((labels >= 0).sum()))
    recipe = published_recipe(METHOD).model_dump(mode="json")
    options = RunOptions(n_classes=n_classes, method=METHOD)
    config = RunConfig(options=options, method=METHOD, recipe=recipe, known=known, images=record, weights="0")
    write_config(run, config)
    return run, PageImages(ImageFiles(folder / "pictures", tuple(names)), features, probabilities)


def report(figures: dict[str, Any]) -> None:
    print(f"seconds of the processor, load {figures['load']:.1f}")
    for size, found in figures["sizes"].items():
        parts = ", ".join(f"{part} {said(seconds)}" for part, seconds in found["cpu_seconds"].items())
        print(f"{int(size):7,d} images: {parts}; {found['peak_mb']:.0f} MB")


if __name__ == "__main__":
    main()
