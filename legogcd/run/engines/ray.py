"""Work on a Ray cluster: shards are made by actors that Ray restarts, training runs under Ray Train.

What travels back is how many images are done, never a shard: shards go to a folder that all machines must see. They are
the checkpoint: a shard that is there is not made again, whoever was killed.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from legogcd.errors import UserError
from legogcd.run.prediction_parts import Parts
from legogcd.vision.views.request import ViewRequest
from legogcd.vision.views.shards import Shard
from legogcd.vision.views.store import Progress, encode_unless_taken

Work = Callable[[Path, Shard], int]  # makes a shard in a folder; says how many images are done by that
OBJECT_STORE = 512 << 20  # bytes of a local Ray: the backbone and the names of the images lie there, nothing else
WAITING = 2  # shards given to an actor at once: the next is there when it is done, and no queue builds up
STARTS = 5  # of a local Ray, before it is given up
RESTARTS = 5  # of the processes that train, before it is given up


def load_ray() -> Any:
    """Ray, where it is installed."""
    try:
        import ray
    except ImportError:
        raise UserError("--engine ray needs Ray, which is not installed: pip install 'legogcd[ray]'") from None
    return ray


@contextmanager
def joined(address: str | None) -> Iterator[Any]:
    """Ray, connected to ``address`` or ``RAY_ADDRESS``; a local one, which ends with this, where there is neither."""
    ray = load_ray()
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    where = address or os.environ.get("RAY_ADDRESS") or "local"
    _start(ray, where)
    try:
        yield ray
    finally:
        ray.shutdown()


def _start(ray: Any, where: str) -> None:
    """Connect; a local Ray, which gives up by itself where a machine is too busy for it, is started a few times."""
    local = {"num_cpus": os.cpu_count(), "object_store_memory": OBJECT_STORE} if where == "local" else {}
    shown: dict[str, Any] = {"include_dashboard": False if local else None, "log_to_driver": False}
    for left in reversed(range(STARTS if local else 1)):
        before = set(psutil.Process().children(recursive=True))
        try:
            ray.init(where, logging_level="ERROR", **shown, **local)
            return
        except ConnectionError as error:
            raise UserError(f"no Ray answers at {where}: {' '.join(str(error).split())}") from None
        except Exception as error:  # Ray raises plain ones here
            ray.shutdown()
            _end(set(psutil.Process().children(recursive=True)) - before)
            if not left:
                raise UserError(f"Ray does not start ({where}): {' '.join(str(error).split())[:200]}") from error


def _end(processes: Iterable[psutil.Process]) -> None:
    """What a Ray that did not start leaves running would only be in the way of the next."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


class ShardMaker:
    """An actor with a backbone of its own, on one core or one GPU."""

    def __init__(self) -> None:
        import torch

        torch.set_num_threads(1)
        self.work: Work | None = None

    def make(self, work: list[Any], folder: Path, shard: Shard) -> int:
        """How many images are done by that; none where another process is at it.

        ``work`` holds where the work is: fetched once, and again by an actor that was started anew.
        """
        if self.work is None:
            self.work = load_ray().get(work[0])
        assert self.work is not None
        return self.work(folder, shard)


class RayEngine:
    """Makes shards on a cluster."""

    def __init__(self, address: str | None = None) -> None:
        load_ray()
        self.address = address

    def encode(self, request: ViewRequest, folder: Path, shards: Sequence[Shard], progress: Progress) -> int:
        """Keep views of these shards; how many images are done by that."""
        gpu = request.encoder.device.type == "cuda"
        return self._make(partial(encode_unless_taken, request), gpu, folder, shards, progress)

    def sort(self, parts: Parts, folder: Path, shards: Sequence[Shard], progress: Progress) -> int:
        """Sort the images of these parts; how many are done by that."""
        return self._make(parts.make, parts.gpu, folder, shards, progress)

    def _make(self, work: Work, gpu: bool, folder: Path, shards: Sequence[Shard], progress: Progress) -> int:
        with joined(self.address) as ray:
            there = ray.cluster_resources().get("GPU" if gpu else "CPU", 1)
            maker = ray.remote(ShardMaker).options(
                num_cpus=1, num_gpus=1 if gpu else 0, max_restarts=-1, max_task_retries=-1
            )
            given, where = [ray.put(work)], folder.absolute()
            actors = [maker.remote() for _ in range(max(1, min(len(shards), int(there))))]
            done = 0
            for images in _in_flight(ray, actors, shards, lambda actor, shard: actor.make.remote(given, where, shard)):
                done += images
                progress(done)
            return done


def _in_flight(
    ray: Any, actors: Sequence[Any], work: Sequence[Shard], start: Callable[[Any, Shard], Any]
) -> Iterator[int]:
    """Results as they come, each actor with a few pieces of work before it."""
    left = list(reversed(work))
    running: dict[Any, Any] = {}
    for actor in [*actors] * WAITING:
        if left:
            running[start(actor, left.pop())] = actor
    while running:
        ready, _ = ray.wait(list(running), num_returns=1)
        actor = running.pop(ready[0])
        if left:
            running[start(actor, left.pop())] = actor
        yield ray.get(ready[0])


def train_on_cluster(work: Callable[[], None], address: str | None, workers: int, gpu: bool, storage: Path) -> None:
    """``work`` in so many processes that Ray Train starts, joins, and starts again together when one of them dies.

    Ray's own notes of it go to a folder in ``storage`` that is removed at the end.
    """
    os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "600")  # on a busy machine its 60 are not enough
    with joined(address), TemporaryDirectory(prefix=".ray-", dir=storage) as notes:
        from ray.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchConfig, TorchTrainer

        trainer = TorchTrainer(
            lambda: work(),
            scaling_config=ScalingConfig(num_workers=workers, use_gpu=gpu),
            torch_config=TorchConfig(backend="nccl" if gpu else "gloo", timeout_s=12 * 3600),
            run_config=RunConfig(
                storage_path=notes,
                failure_config=FailureConfig(max_failures=RESTARTS),
                checkpoint_config=CheckpointConfig(num_to_keep=1),
            ),
        )
        try:
            trainer.fit()
        except Exception as error:
            if not type(error).__module__.startswith("ray."):
                raise
            said = [line.strip() for line in str(error).splitlines() if line.strip()]
            raise UserError(
                f"the training processes failed {RESTARTS + 1} times, at last with: {said[-1] if said else error!r}; "
                "what was learned is kept: go on with --resume"
            ) from error
