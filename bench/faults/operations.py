"""Let a run die at every fsync, rename and removal, go on with --resume, and compare every byte.

A process that dies leaves its files as they are at that moment: so one run, copied before each operation, gives what
each of its deaths would leave. States that are the same are gone on with once.
"""

import hashlib
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.faults.command import bytes_below
from bench.faults.trial import UNLIKE, Trial, checkpoint_every_epoch, what_differs

OPERATIONS = ("fsync", "replace", "rename", "unlink", "remove", "rmdir")
_TEMPORARY = re.compile(r"tmp-.*")


@dataclass
class Deaths:
    """How runs ended that died at an operation and were gone on with."""

    operations: Counter[str] = field(default_factory=Counter)
    states: int = 0
    identical: int = 0
    otherwise: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[str, int, str]]:
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.operations.most_common())
        outcome = f"{self.states} different states on disk; {self.identical} of them end with the same bytes, "
        outcome += f"{len(self.otherwise)} do not"
        return [(f"death at every {kinds}, then `--resume`", self.operations.total(), outcome)]

    def as_json(self) -> dict[str, Any]:
        return {
            "operations": dict(self.operations),
            "states": self.states,
            "identical": self.identical,
            "otherwise": self.otherwise,
        }


def die_at_every_operation(trial: Trial, most: int | None = None, whole: dict[str, bytes] | None = None) -> Deaths:
    """``most`` of the different states, evenly spread; all of them where it is None."""
    whole = whole if whole is not None else trial.whole()
    found = Deaths()
    states = _states(trial, found)
    found.states = len(states)
    chosen = (
        states if most is None else [states[place * len(states) // most] for place in range(min(most, len(states)))]
    )
    for state in chosen:
        trial.clear()
        for name in ("run", "cache"):
            if (state / name).exists():
                shutil.copytree(state / name, trial.home / name, symlinks=True)
        reported = (state / "run" / "sample.safetensors").exists()
        done = trial.discover("--resume", *([] if reported else ["--no-report"]))
        differing = what_differs(trial.left(), whole)
        if not reported and "run/report.html" in differing:
            differing.remove("run/report.html")
        if done.code or differing:
            found.otherwise.append(f"{state.name}: {done.complaint if done.code else ''} {', '.join(differing)}")
        else:
            found.identical += 1
    return found


def _states(trial: Trial, found: Deaths) -> list[Path]:
    """Folders, each with a run and a cache as they were before an operation, all different."""
    home = trial.home / "states"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    trial.clear()

    def before() -> None:
        checkpoint_every_epoch()
        number = [0]
        for operation in OPERATIONS:
            setattr(os, operation, _copying_first(trial, home, number, operation, getattr(os, operation)))

    done = trial.discover(before=before)
    if done.code:
        raise RuntimeError(done.err)
    states: dict[str, Path] = {}
    for state in sorted(home.iterdir()):
        found.operations[state.name.split("-")[1]] += 1
        states.setdefault(_digest(state), state)
    return list(states.values())


def _copying_first(
    trial: Trial, home: Path, number: list[int], operation: str, function: Callable[..., Any]
) -> Callable[..., Any]:
    def copied(*arguments: Any, **named: Any) -> Any:
        number[0] += 1
        state = home / f"{number[0]:04d}-{operation}"
        state.mkdir()
        for name in ("run", "cache"):
            if (trial.home / name).exists():
                shutil.copytree(trial.home / name, state / name, symlinks=True)
        return function(*arguments, **named)

    return copied


def _digest(state: Path) -> str:
    total = hashlib.sha256()
    for name, content in bytes_below(state, UNLIKE).items():
        total.update(f"{_TEMPORARY.sub('tmp', name)} {len(content)}\n".encode() + content)
    return total.hexdigest()
