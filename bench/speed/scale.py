"""What comes once per epoch or run at K = 1,000 and N = 100,000, beside the epoch: ``python -m bench.speed.scale``.

An epoch over kept ViT-B/16 tokens (781 steps of 128 images, and the evaluation) is added up from measured parts. Beside
it: scoring an epoch (matching, NMI, ARI); the k-means start on the 50,000 images a run clusters; laying out the
report's map.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from bench.speed import step
from bench.speed.contest import said, spread
from legogcd.clustering import semi_supervised_kmeans, starts_for
from legogcd.evaluation import Scorer
from legogcd.report.page.group_means import directions
from legogcd.report.page.layout_map import map_points
from legogcd.training.draw import MOST_CLUSTERED

IMAGES, CLASSES, KNOWN, DIM, BATCH = 100_000, 1_000, 500, 768, 128


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.scale", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    report(measure(options.repeats, options.threads))


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
