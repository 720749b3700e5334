"""Work on a local Ray cluster whose processes are killed in the middle; what is said where there is no Ray."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from example_pictures import write_pictures

from legogcd.collection import find_images, from_folders
from legogcd.run import Job, RunOptions, discover, prediction_parts
from legogcd.run.engines import ray as engine
from legogcd.run.engines.ray import RayEngine
from legogcd.run.engines.training import discover_with_engine
from legogcd.run.folder import MANIFEST
from legogcd.run.predict import predict_run
from legogcd.vision import Encoder, ViewRequest, load_backbone
from legogcd.vision.views import shards
from legogcd.vision.views.store import complete_kept


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pictures(tmp_path_factory.mktemp("ray") / "pictures", per_class=30)


@pytest.fixture(scope="module")
def _ray() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")  # beside other tests, what is nice comes last
        import ray

        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        yield
        ray.shutdown()


def workers(name: str) -> list[int]:
    """The processes of Ray's that do some work."""
    family = psutil.Process().children(recursive=True)
    return [one.pid for one in family if one.is_running() and name in " ".join([one.name(), *one.cmdline()])]


def kills_one(killed: list[int]) -> Callable[[int], None]:
    """Hears of progress, and kills one of those at work when there is some."""

    def hear(done: int) -> None:
        if done and not killed:
            killed.append(workers("ShardMaker")[0])
            os.kill(killed[0], signal.SIGKILL)

    return hear


def request_for(images: Path) -> ViewRequest:
    encoder = Encoder(load_backbone("efficientnet-lite0", image_size=64), torch.device("cpu"), "fp32")
    return ViewRequest(encoder, find_images(images), views=2)


def contents(folder: Path) -> dict[str, bytes]:
    """What counts: what a killed process had begun is no part of it."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith(".")}


@pytest.mark.usefixtures("_ray")
def test_a_worker_killed_while_encoding_costs_nothing(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "SHARD_IMAGES", 21)  # one batch
    alone = complete_kept(request_for(pictures), tmp_path / "alone")
    killed: list[int] = []
    request = request_for(pictures)
    made = complete_kept(request, tmp_path / "together", kills_one(killed), engine=RayEngine().encode)
    assert killed
    assert len(request.shards()) > 4
    assert contents(made.folder) == contents(alone.folder)


@pytest.fixture(scope="module")
def job(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    options = RunOptions(
        n_classes=4,
        image_size=32,
        views=2,
        epochs=1,
        settings={"batch_size": 32, "projector_hidden": 16, "projector_out": 8},
        cache=tmp_path_factory.mktemp("ray-cache"),
        device="cpu",
        threads=1,
    )
    return Job(from_folders(find_images(pictures), ["blue", "green"])[0], options)


@pytest.fixture(scope="module")
def run(job: Job, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process makes of it."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    discover(job, folder)
    return folder


@pytest.mark.usefixtures("_ray")
def test_a_worker_killed_while_predicting_costs_nothing(
    run: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prediction_parts, "PART_IMAGES", 8)
    images, killed = find_images(pictures), list[int]()
    alone = predict_run(run, images, tmp_path / "alone.csv", threads=1)

    def sort(parts, folder, shards, progress) -> int:
        def hear(done: int) -> None:
            kills_one(killed)(done)
            progress(done)

        return RayEngine().sort(parts, folder, shards, hear)

    together = predict_run(run, images, tmp_path / "together.csv", threads=1, engine=sort)
    assert killed
    assert (tmp_path / "together.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()
    assert together == alone


def dying_once(work: Callable[[], None], first: Callable[[], None], finished: Path, died: Path) -> Callable[[], None]:
    """What a training process does: ``first``, and then ``work``, in which the second one kills itself, once.

    That is in the second of its epochs. Both are done by the same processes, as starting them is what takes time.
    """

    def train() -> None:  # in a process of Ray's, which does not find this module: nothing of it is used here
        from legogcd import launched
        from legogcd.training import journal
        from legogcd.training.loop import EpochLog

        journal.SECONDS_BETWEEN_CHECKPOINTS = 0
        if not finished.exists():
            first()
        add = EpochLog.add

        def add_or_die(log, step) -> None:
            add(log, step)
            if log.epoch == 1 and launched.rank() == 1 and not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)

        EpochLog.add = add_or_die
        work()

    return train


@pytest.mark.usefixtures("_ray", "run")  # which keeps the views
def test_a_training_process_that_is_killed_costs_nothing(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, alone, died = tmp_path / "killed", tmp_path / "alone", tmp_path / "died"
    job = job.changed(epochs=3)
    unharmed = partial(discover, job, alone)  # by as many processes, none of which dies
    train = engine.train_on_cluster

    def train_dying(work: Callable[[], None], *given: Any) -> None:
        train(dying_once(work, unharmed, alone / MANIFEST, died), *given)

    monkeypatch.setattr(engine, "train_on_cluster", train_dying)
    discover_with_engine(job.changed(engine="ray", workers=2), killed)
    assert died.exists()
    left = {folder: contents(folder) for folder in (killed, alone)}
    assert {"predictions.csv", "model.safetensors", "metrics.jsonl"} < set(left[alone])
    same = {name for name in left[alone] if left[killed].get(name) == left[alone][name]}
    assert set(left[alone]) - same <= {"timing.jsonl"}
    assert set(left[killed]) == set(left[alone])


@pytest.mark.parametrize("command", ["encode", "predict", "discover"])
def test_without_ray_one_line_says_what_to_install(
    run_cli, run: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    labels = ["--labels", "folders", "--known", "blue,green"]
    words = {
        "encode": ["encode", pictures, "--cache", tmp_path / "cache"],
        "predict": ["predict", run, pictures, "--out", tmp_path / "table.csv"],
        "discover": ["discover", pictures, *labels, "--out", tmp_path / "run", "--cache", tmp_path / "cache"],
    }
    done = run_cli(*words[command], "--engine", "ray")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].endswith("not installed: pip install 'legogcd[ray]'")
    assert not (tmp_path / "run").exists()


class BusyRay:
    """Gives up twice, as Ray does where it is not there within its 30 seconds, and leaves its processes behind."""

    def __init__(self) -> None:
        self.begun: list[subprocess.Popen[bytes]] = []

    def is_initialized(self) -> bool:
        return False

    def init(self, *_: object, **__: object) -> None:
        self.begun.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]))
        if len(self.begun) < 3:
            raise Exception("The current node timed out during startup.")

    def shutdown(self) -> None:
        pass


def test_a_ray_that_does_not_start_in_time_is_ended_and_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = BusyRay()
    monkeypatch.setattr(engine, "load_ray", lambda: busy)
    try:
        with engine.joined("local") as ray:
            assert ray is busy
            assert [process.wait(60) for process in busy.begun[:-1]] == [-signal.SIGKILL] * 2
            assert busy.begun[-1].poll() is None
    finally:
        for process in busy.begun:
            process.kill()
            process.wait()


def test_ray_and_stores_are_extras() -> None:
    plain = [needed for needed in requires("legogcd") or () if "extra ==" not in needed]
    assert plain
    assert not [needed for needed in plain if needed.startswith(("ray", "s3fs"))]
