"""Kill processes of a local Ray in the middle of encode, predict and training: a worker, the head, or everything.

After a worker's death the command must end by itself. After the head's it may end as it likes, and where everything is
killed, the command itself is: then the same command is given again. What is left must be the bytes of a command that
nobody killed.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from bench.faults.killable import COMMAND, let_go, those_here
from bench.faults.trial import Trial, what_differs

PHASES = ("encode", "predict", "training")
KILLED = ("a worker", "the head", "everything")
HEAD = ("gcs_server", "raylet")  # the processes that a head node is
PATIENCE = 600.0  # seconds; only a command that hangs is waited for so long


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


def kill_clusters(trial: Trial, count: int, only: Sequence[str] = ()) -> Clusters:
    """Each case ``count`` times: who is killed in which phase; of all cases ``only`` those that have these words."""
    found = Clusters()
    for phase in PHASES:
        cases = {who: f"{who} killed in the middle of {phase}" for who in KILLED}
        cases = {who: case for who, case in cases.items() if all(word in case for word in only)}
        if not cases:
            continue
        if phase == "predict":
            trial.whole()
        whole = _unkilled(trial, phase)
        for who, case in cases.items():
            found.identical[case] = 0
            for _ in range(count):
                _clear(trial, phase)
                said = _killed(trial, phase, who)
                differing = what_differs(_left(trial), whole)
                if said or differing:
                    found.otherwise.append(f"{case}: {said} {', '.join(differing)}")
                else:
                    found.identical[case] += 1
            print(f"{case}: {found.identical[case]} of {count} the same bytes", *found.otherwise, file=sys.stderr)
    return found


def _words(trial: Trial, phase: str) -> list[str]:
    ray = ["--engine", "ray"]
    if phase == "training":
        return [*trial.words(), "--no-report", *ray, "--workers", "2"]
    if phase == "predict":
        out = str(trial.home / "all.csv")
        return ["predict", str(trial.run), str(trial.pictures), "--out", out, "--threads", "1", *ray]
    words = trial.words()
    wanted = ("--cache", "--image-size", "--views", "--device", "--precision", "--threads", "--disk-budget")
    same = [word for name in wanted for word in words[words.index(name) : words.index(name) + 2]]
    return ["encode", str(trial.pictures), *same, *ray]


def _unkilled(trial: Trial, phase: str) -> dict[str, bytes]:
    _clear(trial, phase)
    let_go(_meeting(trial))
    done = _start(trial, phase)
    said = done.communicate()[1]
    if done.returncode:
        raise RuntimeError(f"{phase} does not work: {said[-2000:]}")
    return _left(trial)


def _meeting(trial: Trial) -> Path:
    """Where processes say that they may be killed."""
    folder = trial.home / "meeting"
    folder.mkdir(exist_ok=True)
    return folder


def _clear(trial: Trial, phase: str) -> None:
    """Leave what a command needs and nothing that it makes."""
    if phase == "encode":
        trial.clear()
    if phase == "training":
        shutil.rmtree(trial.run, ignore_errors=True)
    (trial.home / "all.csv").unlink(missing_ok=True)
    shutil.rmtree(_meeting(trial))


def _left(trial: Trial) -> dict[str, bytes]:
    table = trial.home / "all.csv"
    return {**trial.left(), **({"all.csv": table.read_bytes()} if table.exists() else {})}


def _start(trial: Trial, phase: str) -> "subprocess.Popen[str]":
    what = "training" if phase == "training" else "shards"
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(_meeting(trial)), what, *_words(trial, phase)],
        env=os.environ | {"OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _killed(trial: Trial, phase: str, who: str) -> str:
    """Kill in the middle, give the command again where it then failed; what went wrong, or nothing."""
    running, meeting = _start(trial, phase), _meeting(trial)
    ends_at = time.monotonic() + PATIENCE
    while running.poll() is None and not those_here(meeting) and time.monotonic() < ends_at:
        time.sleep(0.02)
    if running.poll() is not None or not those_here(meeting):
        return f"it could not be killed: {_ended(running)[1]}"
    time.sleep(random.random() / 2)  # anywhere from there on
    family = _family(running)
    if who == "a worker":
        os.kill(those_here(meeting)[-1], signal.SIGKILL)
    else:
        _kill(one for one in family if who == "everything" or _name(one) in HEAD)
    let_go(meeting)
    code, said = _ended(running)
    if who != "a worker" and code:
        _kill(family)  # who outlives the head
        code, said = _ended(_start(trial, phase))
    return said or "it failed" if code else ""


def _ended(running: "subprocess.Popen[str]") -> tuple[int, str]:
    """Exit code and last words; one that hangs is killed."""
    try:
        said = running.communicate(timeout=PATIENCE)[1]
    except subprocess.TimeoutExpired:
        _kill(_family(running))
        said = "it hung: " + running.communicate()[1]
    return running.returncode, said[-1500:]


def _family(running: "subprocess.Popen[str]") -> list[psutil.Process]:
    """The command, the head of its Ray and every worker."""
    own = psutil.Process(running.pid)
    return [own, *own.children(recursive=True)]


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def _kill(processes: Iterable[psutil.Process]) -> None:
    for one in processes:
        with suppress(psutil.NoSuchProcess):
            one.kill()
