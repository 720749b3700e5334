"""Two processes against one, each with one thread: ``python -m bench.speed.processes``.

What N processes gain in encode, predict and a step of training, torch alone (gloo) and under Ray. Every figure is the
ratio of the time of one to that of N in the same round; rounds alternate, because a machine is never quiet. Processes
are started before the clock is: what is measured is the work, and what the processes say to each other. 2 is all that
two processes can gain; cores that others use show as less. Beside it the same ratio of processor time, of the busiest
of the N: what they would gain with a core each and nothing to wait for.
"""

import argparse
import os
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing
from PIL import Image

from bench.speed.kept import EFFICIENTNET, learner_over, write_noise
from bench.speed.tail import epoch
from legogcd.collection import find_images
from legogcd.training.processes import Processes, open_processes
from legogcd.vision import Encoder, KeptViews, ViewRequest, load_backbone
from legogcd.vision.views import shards
from legogcd.vision.views.store import encode_unless_taken

PIXELS, STEPS, BATCH, KEPT_IMAGES = 128, 6, 128, 256


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.speed.processes", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--counts", type=int, nargs="+", default=[2])
    parser.add_argument("--images", type=int, default=96)
    parser.add_argument("--ray", action="store_true", help="encode with Ray's actors too")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # for the processes, whoever sets threads in them
    with tempfile.TemporaryDirectory(prefix="legogcd-processes-") as home:
        write_photos(Path(home) / "photos", options.images)
        write_noise(Path(home) / "kept", KEPT_IMAGES, 4, "bf16", kept=EFFICIENTNET)
        found: dict[str, list[float]] = {}
        for number in range(options.rounds):
            for count in options.counts:
                for name, ratio in one_round(count, Path(home), number, options.ray).items():
                    found.setdefault(f"{name}, {count} processes", []).append(ratio)
    print(f"load {os.getloadavg()[0]:.1f}; {options.rounds} rounds; time of one / time of N")
    for name, ratios in found.items():
        print(f"{name:<52} {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def write_photos(folder: Path, count: int) -> None:
    folder.mkdir()
    random = np.random.default_rng(0)
    for number in range(count):
        pixels = np.asarray(Image.fromarray(random.integers(0, 256, (12, 16, 3), np.uint8)).resize((320, 240)))
        Image.fromarray(pixels).save(folder / f"{number:04d}.jpg", quality=90)


def one_round(count: int, home: Path, number: int, ray: bool) -> dict[str, float]:
    """Ratios of one process to ``count`` for each kind of work."""
    alone, together = (timed_processes(n, home, f"{number}-{count}-{n}") for n in (1, count))
    ratios = {name: alone[name] / together[name] for name in alone}
    if ray:
        ratios["encode under Ray"] = alone["encode"] / timed_ray(count, home, f"{number}-ray-{count}")
    return ratios


def timed_processes(count: int, home: Path, name: str) -> dict[str, float]:
    """Seconds of each kind of work in so many processes, of the slowest of them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(_entered, (count, port, home, name), nprocs=count)
    made: dict[str, float] = torch.load(home / f"{name}.pt", weights_only=True)
    return made


def _entered(rank: int, count: int, port: int, home: Path, name: str) -> None:
    os.environ.update(WORLD_SIZE=str(count), RANK=str(rank), LOCAL_WORLD_SIZE=str(count), LOCAL_RANK=str(rank))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=count)
    processes = open_processes(torch.device("cpu"))
    torch.set_num_threads(1)
    spent = {
        **_timed("encode", encoding(home, name, processes)),
        **_timed("predict", predicting(home, processes)),
        **_timed("a step", stepping(home, processes)),
    }
    if rank == 0:
        torch.save(spent, home / f"{name}.pt")
    dist.destroy_process_group()


def _timed(name: str, work: Callable[[], Any]) -> dict[str, float]:
    dist.barrier()
    began, used = time.perf_counter(), time.process_time()
    work()
    most = torch.tensor([time.process_time() - used])
    dist.all_reduce(most, dist.ReduceOp.MAX)
    return {name: time.perf_counter() - began, f"{name}, processor time": float(most)}


def request_of(home: Path) -> ViewRequest:
    shards.SHARD_IMAGES = 12  # one batch of images, so that there is something to share
    encoder = Encoder(load_backbone("efficientnet-lite0", image_size=PIXELS), torch.device("cpu"), "fp32")
    request = ViewRequest(encoder, find_images(home / "photos"), views=4)
    _ = request.layout
    return request


def encoding(home: Path, name: str, processes: Processes) -> Callable[[], Any]:
    request, folder = request_of(home), home / f"views-{name}"
    folder.mkdir(exist_ok=True)
    own = request.shards()[processes.rank :: processes.count]
    return lambda: [encode_unless_taken(request, folder, shard) for shard in own]


def predicting(home: Path, processes: Processes) -> Callable[[], Any]:
    """Trunk and tail over the images of a process's parts, nothing kept."""
    from legogcd.vision.features import features, streamed_states

    request = request_of(home)
    rows = np.arange(len(request.images)).reshape(-1, 12)[processes.rank :: processes.count].ravel()
    images, tail = request.images.subset(rows), request.encoder.backbone.tail
    return lambda: list(features(tail, streamed_states(request.encoder, images, "bf16"), Plain()))


class Plain:
    """Where the arithmetic happens: here."""

    device = torch.device("cpu")

    def autocast(self) -> torch.autocast:
        return torch.autocast("cpu", enabled=False)

    def backward(self, loss: torch.Tensor) -> None:
        loss.backward()


def stepping(home: Path, processes: Processes) -> Callable[[], Any]:
    """An epoch of legogcd+ over kept maps of the default backbone at 224 pixels, as a run trains."""
    rows = torch.arange(STEPS * BATCH) % KEPT_IMAGES
    learner, views = learner_over(KeptViews(home / "kept"), "efficientnet-lite0", rows, name="legogcd+")
    work = epoch(replace(learner, processes=processes), views)
    work()  # the first allocates
    return work


def timed_ray(count: int, home: Path, name: str) -> float:
    """Seconds of encoding by so many actors that have the backbone already."""
    from legogcd.run.engines.ray import RayEngine, load_ray

    ray = load_ray()
    if not ray.is_initialized():
        os.environ.update(OMP_NUM_THREADS="1", RAY_worker_niceness="0")
        ray.init("local", num_cpus=count, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    request, folder = request_of(home), home / f"views-{name}"
    folder.mkdir()
    began = time.perf_counter()
    RayEngine().encode(request, folder, request.shards(), lambda done: None)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
