"""An iteration of our k-means against faiss and broadcast differences, by turns: ``python -m bench.speed.kmeans``.

Iteration: every point to its nearest center, every center to the mean of its points; all from the same centers, all
points unlabelled (labelled ones would spare us work).
Ours:       a search in which every center has moved, which is the dearest, and all means.
Faiss:      ``faiss.Kmeans`` on all points, n + 1 iterations less one, over n. Its wheel brings an OpenBLAS that may not
            know a new processor and then falls back to old instructions, so it also runs with the kernels named.
Broadcast:  (x[:, None] − c[None])² summed, a few points at a time (as many as suit it best), and masked means; it is
            linear in the points, so timed on a part of them and scaled.
A run:      ours and the quicker faiss from the same start over the same number of iterations; ours then skips centers
            that did not move.
A call:     ``semi_supervised_kmeans`` with ten starts, a tenth of the points labelled, half of the classes known.

Each has a process of its own with the same threads. On a busy machine ``--threads 1 --clock cpu`` counts processor
seconds instead, which the others do not change much. Memory is the growth of that process beyond the data.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from legogcd.clustering import semi_supervised_kmeans
from legogcd.clustering.kmeans.means import cluster_means
from legogcd.clustering.kmeans.nearest import Nearest
from legogcd.clustering.kmeans.seeding import Start
from legogcd.clustering.kmeans.semi_supervised import _Run

BROADCAST_ROWS = 16
Floats = NDArray[np.float32]
Seconds = Callable[[], float]
CLOCKS: dict[str, Seconds] = {"wall": time.perf_counter, "cpu": time.process_time}


def main() -> None:
    options = read_options()
    if options.child:
        return answer(options)
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder), options)
        contenders = {name: Contender(name, folder, options) for name in chosen_contenders()}
        figures = []
        for _ in range(options.repeats):
            figures.append({name: one.seconds() for name, one in contenders.items()})
            print(", ".join(f"{name} {seconds:.3f} s" for name, seconds in figures[-1].items()), flush=True)
        report(figures, {name: one.close() for name, one in contenders.items()}, options)
        if options.call:
            whole = Contender("call", folder, options)
            print(f"a call: {whole.first:.1f} s, {whole.close():.0f} MB beyond the data")
    return None


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.kmeans", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=50_000)
    parser.add_argument("--dims", type=int, default=768)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=5, help="in one timing")
    parser.add_argument("--run", type=int, default=20, help="iterations of a run")
    parser.add_argument("--broadcast-points", type=int, default=2000, help="points the broadcast is timed on")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--call", action="store_true", help="time a whole call too")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def write_data(folder: Path, options: argparse.Namespace) -> None:
    """Overlapping clusters, and some of the points as first centers."""
    random = np.random.default_rng(0)
    centers = random.standard_normal((options.clusters, options.dims), dtype=np.float32)
    points = random.standard_normal((options.points, options.dims), dtype=np.float32)
    points *= 5
    truth = random.integers(options.clusters, size=options.points)
    points += centers[truth]
    points -= points.mean(axis=0)
    np.save(folder / "truth.npy", truth)
    np.save(folder / "points.npy", points)
    np.save(folder / "centers.npy", points[random.choice(options.points, options.clusters, replace=False)])


def chosen_contenders() -> list[str]:
    try:
        import faiss  # noqa: F401
    except ImportError:
        print('faiss is missing, so ours is compared with the broadcast only; pip install "legogcd[bench]" adds it')
        return ["broadcast", "ours", "ours, run"]
    return ["broadcast", "faiss", "faiss, kernels named", "ours", "faiss, run", "ours, run"]


class Contender:
    """A process that times one way of clustering whenever it is asked to."""

    def __init__(self, name: str, folder: str, options: argparse.Namespace) -> None:
        command = [sys.executable, "-m", "bench.speed.kmeans", "--child", name, "--folder", folder]
        for key in ("points", "dims", "clusters", "iterations", "run", "broadcast_points", "clock"):
            command += [f"--{key.replace('_', '-')}", str(getattr(options, key))]
        threads = str(options.threads)
        environment = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        if name in ("faiss, kernels named", "faiss, run"):
            environment["OPENBLAS_CORETYPE"] = (
                "SkylakeX" if "AVX512" in torch.backends.cpu.get_cpu_capability() else "Haswell"
            )
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=environment, **pipes)
        warm_up = self._ask("warm up")
        self.first, self.memory = warm_up["seconds"], warm_up["megabytes"]

    def seconds(self) -> float:
        """Of one iteration, or of one run."""
        return self._ask("time")["seconds"]

    def close(self) -> float:
        """Ends the process; megabytes it needed beyond the data."""
        self.process.communicate()
        return self.memory

    def _ask(self, word: str) -> dict[str, float]:
        self.process.stdin.write(word + "\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            sys.exit("a process of the comparison ended early; its error stands above")
        said: dict[str, float] = json.loads(line)
        return said


def answer(options: argparse.Namespace) -> None:
    """In a process of its own: a line of JSON for every line that comes in."""
    points, centers = np.load(options.folder / "points.npy"), np.load(options.folder / "centers.npy")
    before = _megabytes("VmRSS")
    timed = CHILDREN[options.child](points, centers, options)
    for _ in sys.stdin:
        seconds = timed()
        print(json.dumps({"seconds": seconds, "megabytes": _megabytes("VmHWM") - before}), flush=True)


def ours(points: Floats, centers: Floats, options: argparse.Namespace) -> Seconds:
    clock = CLOCKS[options.clock]
    everything, norms = np.arange(len(centers)), np.einsum("nd,nd->n", points, points)

    def timed() -> float:
        nearest = Nearest(points, norms, centers)  # the first assignment is not timed
        began = clock()
        for _ in range(options.iterations):
            nearest.look_at_all(cluster_means(points, nearest.chosen, everything))
        return (clock() - began) / options.iterations

    return timed


def ours_run(points: Floats, centers: Floats, options: argparse.Namespace) -> Seconds:
    clock = CLOCKS[options.clock]
    run = _Run(points, np.empty(0, dtype=np.int64), len(centers), 0)
    near = Nearest(run.free, run.free_norms, centers)
    start = Start(np.empty(0, dtype=np.int64), near.chosen, near.distances)

    def timed() -> float:
        began = clock()
        found = run.fit(start, options.run, tol=0)
        seconds = clock() - began
        if np.array_equal(run.fit(start._replace(clusters=found.labels), 0, tol=0).labels, found.labels):
            sys.exit(f"the run had come to rest after {options.run} iterations; ask for fewer with --run")
        return seconds

    return timed


def faiss_seconds(points: Floats, centers: Floats, iterations: int, clock: Seconds) -> float:
    import faiss

    settings = {"max_points_per_centroid": len(points), "min_points_per_centroid": 1}
    model = faiss.Kmeans(points.shape[1], len(centers), niter=iterations, **settings)
    began = clock()
    model.train(points, init_centroids=centers)
    return clock() - began


def faiss_iteration(points: Floats, centers: Floats, options: argparse.Namespace) -> Seconds:
    clock = CLOCKS[options.clock]

    def timed() -> float:
        one = faiss_seconds(points, centers, 1, clock)
        return (faiss_seconds(points, centers, options.iterations + 1, clock) - one) / options.iterations

    return timed


def faiss_run(points: Floats, centers: Floats, options: argparse.Namespace) -> Seconds:
    return lambda: faiss_seconds(points, centers, options.run + 1, CLOCKS[options.clock])  # ours begins with means


def broadcast(points: Floats, centers: Floats, options: argparse.Namespace) -> Seconds:
    clock = CLOCKS[options.clock]
    x, c = torch.from_numpy(points[: options.broadcast_points]), torch.from_numpy(centers)
    nearest = torch.empty(len(x), dtype=torch.int64)

    def timed() -> float:
        began = clock()
        for part, found in zip(x.split(BROADCAST_ROWS), nearest.split(BROADCAST_ROWS), strict=True):
            found[:] = ((part[:, None] - c) ** 2).sum(-1).argmin(1)
        for k in range(len(c)):
            x[nearest == k].mean(0)
        return (clock() - began) * (len(points) / len(x))

    return timed


def call(points: Floats, centers: Floats, options: argparse.Namespace) -> Seconds:
    clock = CLOCKS[options.clock]
    truth = np.load(options.folder / "truth.npy")
    labels = np.where((truth < len(centers) // 2) & (np.arange(len(truth)) % 5 == 0), truth, -1)

    def timed() -> float:
        began = clock()
        semi_supervised_kmeans(points, labels, len(centers), seed=0)
        return clock() - began

    return timed


CHILDREN: dict[str, Callable[[Floats, Floats, argparse.Namespace], Seconds]] = {
    "broadcast": broadcast,
    "call": call,
    "faiss": faiss_iteration,
    "faiss, kernels named": faiss_iteration,
    "faiss, run": faiss_run,
    "ours": ours,
    "ours, run": ours_run,
}


def _megabytes(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def report(figures: list[dict[str, float]], memory: dict[str, float], options: argparse.Namespace) -> None:
    print(f"{options.points} points, {options.dims} dimensions, {options.clusters} clusters, float32")
    print(
        f"{options.threads} threads, torch {torch.__version__}, load {os.getloadavg()[0]:.1f}, {options.clock} seconds"
    )
    for name in figures[0]:
        values = [figure[name] for figure in figures]
        what = f"{options.run} iterations of a run" if "run" in name else "an iteration"
        note = f", timed on {options.broadcast_points} points" if name == "broadcast" else ""
        print(f"{name:21s} {statistics.median(values):8.3f} s {what}, {memory[name]:5.0f} MB beyond the data{note}")
    for name in figures[0]:
        if not name.startswith("ours"):
            mine = "ours, run" if "run" in name else "ours"
            ratios = sorted(figure[name] / figure[mine] for figure in figures)
            spread = f"({ratios[0]:.2f} to {ratios[-1]:.2f} over {len(ratios)} repeats)"
            print(f"{name} / {mine}: {statistics.median(ratios):.2f} {spread}", flush=True)


if __name__ == "__main__":
    main()
