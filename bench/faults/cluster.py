"""Kill processes of a local Ray in the middle of encode, predict and training: a worker, or all of it with its head.

After a worker's death the command must end by itself; after the head's, the same command is given again (for a run with
--resume, as it says itself). What is left must be the bytes of a command that nobody killed.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import psutil

from bench.faults.trial import Trial, what_differs
from legogcd.training.files import CHECKPOINT

EPOCHS = 250  # long enough that there is a checkpoint to go on from
WORKERS = ("ShardMaker", "RayTrainWorker")  # what Ray calls the processes that work
SMALL = (  # several shards and parts, as a large run has them
    "from legogcd.vision.views import shards; from legogcd.run import prediction_parts; "
    "shards.SHARD_IMAGES = 21; prediction_parts.PART_IMAGES = 8; from legogcd.cli import main; main()"
)


@dataclass
class Clusters:
    """How commands ended whose processes were killed, by what was killed where."""

    identical: dict[str, int] = field(default_factory=dict)
    otherwise: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[str, int, str]]:
        return [
            (what, count + sum(text.startswith(what) for text in self.otherwise), f"{count} end with the same bytes")
            for what, count in self.identical.items()
        ]

    def as_json(self) -> dict[str, Any]:
        return {"identical": self.identical, "otherwise": self.otherwise}


def kill_clusters(trial: Trial, count: int) -> Clusters:
    """Each of the six cases ``count`` times."""
    found, ray = Clusters(), ["--engine", "ray"]
    predict = ["predict", str(trial.run), str(trial.pictures), "--out", str(trial.home / "all.csv"), "--threads", "1"]
    _try_each(trial, "encode", ["encode", str(trial.pictures), *_encode_options(trial), *ray], count, found)
    trial.whole()
    _try_each(trial, "predict", [*predict, *ray], count, found)
    trial = replace(trial, epochs=EPOCHS)
    _try_each(trial, "training", [*trial.words(), "--no-report", *ray, "--workers", "2"], count, found)
    return found


def _try_each(trial: Trial, phase: str, command: list[str], count: int, found: Clusters) -> None:
    whole = _unkilled(trial, phase, command)
    for who in ("a worker", "the head"):
        case = f"{who} killed in the middle of {phase}"
        found.identical.setdefault(case, 0)
        for _ in range(count):
            _clear(trial, phase)
            said = _killed(trial, phase, command, who)
            differing = what_differs(_left(trial), whole)
            if said or differing:
                found.otherwise.append(f"{case}: {said} {', '.join(differing)}")
            else:
                found.identical[case] += 1
        print(f"{case}: {found.identical[case]} of {count} the same bytes", *found.otherwise[-1:], file=sys.stderr)


def _encode_options(trial: Trial) -> list[str]:
    words = trial.words()
    wanted = ("--cache", "--image-size", "--views", "--device", "--precision", "--threads", "--disk-budget")
    return [word for name in wanted for word in words[words.index(name) : words.index(name) + 2]]


def _unkilled(trial: Trial, phase: str, command: list[str]) -> dict[str, bytes]:
    _clear(trial, phase)
    done = _start(command)
    said = done.communicate()[1]
    if done.returncode:
        raise RuntimeError(f"{phase} does not work: {said[-2000:]}")
    return _left(trial)


def _clear(trial: Trial, phase: str) -> None:
    """Leave what a command needs and nothing that it makes."""
    if phase != "predict":
        trial.clear()
    (trial.home / "all.csv").unlink(missing_ok=True)


def _left(trial: Trial) -> dict[str, bytes]:
    table = trial.home / "all.csv"
    return {**trial.left(), **({"all.csv": table.read_bytes()} if table.exists() else {})}


def _start(command: list[str]) -> "subprocess.Popen[str]":
    environment = os.environ | {"OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0"}
    return subprocess.Popen(
        [sys.executable, "-c", SMALL, *command],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _killed(trial: Trial, phase: str, command: list[str], who: str) -> str:
    """Kill in the middle, go on where that is for the user to do; what went wrong, or nothing."""
    running = _start(command)
    begun: dict[str, Callable[[], bool]] = {
        "encode": lambda: any(trial.cache.glob("views-*/00000.json")),
        "training": (trial.run / CHECKPOINT).exists,
        "predict": lambda: any(trial.home.glob("all.csv.unfinished/00000.json")),
    }
    while running.poll() is None and not begun[phase]():
        time.sleep(0.02)
    family = psutil.Process(running.pid).children(recursive=True) if running.poll() is None else []
    workers = [one for one in family if any(name in _name(one) for name in WORKERS)]
    if not workers:
        running.communicate()
        return "it ended before it could be killed"
    if who == "a worker":
        os.kill(workers[-1].pid, signal.SIGKILL)
    else:
        for one in (psutil.Process(running.pid), *family):
            _kill(one)
    said = running.communicate()[1]
    if who == "the head":
        more = ["--resume"] if phase == "training" else []
        again = _start([*command, *more])
        said = again.communicate()[1]
        return "" if again.returncode == 0 else said[-500:]
    return "" if running.returncode == 0 else said[-500:]


def _name(process: psutil.Process) -> str:
    try:
        return " ".join([process.name(), *process.cmdline()])
    except psutil.Error:
        return ""


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.kill()
