"""Very many images, and what comes once per epoch or run at K = 1,000: ``python -m bench.speed.scale``.

With ``--images 10000 100000 1000000 --folder DIR``: a run of so many small images through the package's own functions
(`bench.speed.million`), seconds, microseconds an image and the most memory of each phase, each in a process of its own;
``--out`` remembers phases that were measured, and ``--minutes`` begins none after so long. Files that are mapped do not
count as memory, where the system tells them apart.

Without: N = 100,000. An epoch over kept ViT-B/16 tokens (781 steps of 128 images, and the evaluation) is added up from
measured parts. Beside it: scoring an epoch (matching, NMI, ARI); the k-means start on the 50,000 images a run clusters;
laying out the report's map.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.speed import step
from bench.speed.contest import said, spread
from bench.speed.million import PHASES, measured
from legogcd.clustering import semi_supervised_kmeans, starts_for
from legogcd.evaluation import Scorer
from legogcd.files import write_text
from legogcd.report.page.group_means import directions
from legogcd.report.page.layout_map import map_points
from legogcd.run.own_process import in_own_process
from legogcd.training.draw import MOST_CLUSTERED

IMAGES, CLASSES, KNOWN, DIM, BATCH = 100_000, 1_000, 500, 768, 128


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.scale", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--images", type=int, nargs="+")
    parser.add_argument("--folder", type=Path, help="where the images and runs of --images go: 6 KB an image")
    parser.add_argument("--out", type=Path, default=Path("results/scale.json"))
    parser.add_argument("--minutes", type=float)
    options = parser.parse_args()
    if options.images:
        grow(options)
    else:
        report(measure(options.repeats, options.threads))


def grow(options: argparse.Namespace) -> None:
    """Phases that were not measured yet, and the table of all."""
    began = time.monotonic()
    rows: dict[str, dict[str, Any]] = json.loads(options.out.read_text()) if options.out.exists() else {}
    for count in options.images:
        for phase in PHASES:
            late = options.minutes is not None and time.monotonic() - began > 60 * options.minutes
            if late or f"{count} {phase}" in rows:
                continue
            found, memory = in_own_process(measured, phase, options.folder / str(count), count)
            rows[f"{count} {phase}"] = {**found, "memory": memory, "load": os.getloadavg()[0]}
            write_text(options.out, json.dumps(rows, indent=1) + "\n")
            print(f"{count} {phase}: {found['seconds']:.1f} s, {memory / 1e6:.0f} MB", flush=True)
    print("\n".join(table(rows, options.images)))


def table(rows: dict[str, dict[str, Any]], counts: list[int]) -> Iterator[str]:
    heads = " | ".join(f"{count:,}: s | CPU µs/image | MB" for count in counts)
    yield f"| phase | {heads} |"
    yield f"|---|{'--:|' * 3 * len(counts)}"
    for phase in PHASES:
        found = [rows.get(f"{count} {phase}") for count in counts]
        yield f"| {phase} | {_cells(found, counts)} |"
        for part in next((row["parts"] for row in found if row), {}):
            yield f"| – {part} | {_cells([row and row['parts'][part] for row in found], counts)} |"


def _cells(found: list[dict[str, Any] | None], counts: list[int]) -> str:
    cells: list[str] = []
    for row, count in zip(found, counts, strict=True):
        figures = (row["seconds"], 1e6 * row["cpu"] / count, row["memory"] / 1e6) if row else None
        cells += [f"{figures[0]:.1f}", f"{figures[1]:.0f}", f"{figures[2]:.0f}"] if figures else ["–"] * 3
    return " | ".join(cells)


def measure(repeats: int, threads: int) -> dict[str, Any]:
    torch.set_num_threads(threads)
    random = np.random.default_rng(0)
    truth = random.integers(0, CLASSES, IMAGES)
    predicted = np.where(random.random(IMAGES) < 0.5, truth, random.integers(0, CLASSES, IMAGES))
    score = Scorer(truth, KNOWN)
    scoring = [seconds(lambda: score(predicted)) for _ in range(repeats)]
    parts = step.measure(5, threads, "wall", "bf16")["ms"]
    whole = parts["whole step"]["median"] / 1e3
    return {
        "threads": threads,
        "load": os.getloadavg()[0],
        "epoch_seconds": IMAGES // BATCH * whole,
        "scoring_seconds": spread(scoring),
        "kmeans_seconds": kmeans_start(random),
        "map_seconds": seconds(lambda: map_points(directions(random.normal(size=(IMAGES, DIM)).astype(np.float32)))),
    }


def kmeans_start(random: np.random.Generator) -> float:
    """Seconds of the search among the images a run clusters, from one of its starts."""
    centers = random.normal(size=(CLASSES, DIM))
    classes = np.arange(MOST_CLUSTERED) % CLASSES
    features = directions((centers[classes] + 2 * random.normal(size=(MOST_CLUSTERED, DIM))).astype(np.float32))
    labels = np.where((classes < KNOWN) & (np.arange(MOST_CLUSTERED) // CLASSES % 2 == 0), classes, -1)
    one = seconds(lambda: semi_supervised_kmeans(features, labels, CLASSES, seed=0, n_init=1))
    return one * starts_for(MOST_CLUSTERED, CLASSES)


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def report(figures: dict[str, Any]) -> None:
    epoch = figures["epoch_seconds"]
    print(f"{figures['threads']} threads, load {figures['load']:.1f}; {IMAGES} images, {CLASSES} classes")
    print(f"an epoch of steps         {epoch:8.1f} s")
    print(f"scoring it                {said(figures['scoring_seconds'])} s")
    print(f"the k-means start, once   {figures['kmeans_seconds']:8.1f} s")
    print(f"the report's map, once    {figures['map_seconds']:8.1f} s")


if __name__ == "__main__":
    main()
