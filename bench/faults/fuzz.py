"""Wrong files for every reader of files that others may have written, in processes that may crash or hang."""

import json
import os
import resource
import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.faults.targets import Target, inputs, outcome, targets
from bench.faults.trial import Trial

SECONDS = 20.0  # for one input
MEMORY = 3 << 30  # bytes beyond what there is


@dataclass
class Fuzzed:
    """How each target took its inputs, by its name."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)

    def rows(self) -> list[tuple[str, int, str]]:
        return [
            (f"fuzz `{name}`", counts.total(), ", ".join(f"{count:,} {what}" for what, count in counts.most_common()))
            for name, counts in self.outcomes.items()
        ]

    def as_json(self) -> dict[str, Any]:
        return {name: dict(counts) for name, counts in self.outcomes.items()}


def fuzz_readers(trial: Trial, count: int) -> Fuzzed:
    """``count`` inputs for every target; a twentieth for .mat files, each of which takes a process."""
    found = Fuzzed()
    for target in targets(trial.home / "fuzz"):
        found.outcomes[target.name] = fuzz(target, count // 20 if target.name.endswith(".mat") else count)
    return found


def fuzz(target: Target, count: int) -> Counter[str]:
    """How often each outcome came of ``count`` inputs."""
    outcomes: Counter[str] = Counter()
    while outcomes.total() < count:
        outcomes += _in_a_copy(target, count, outcomes.total())
    return outcomes


def _in_a_copy(target: Target, count: int, begin: int) -> Counter[str]:
    """Inputs from ``begin`` on in a copy of this process, up to the first that ends it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            _read_all(target, count, begin, writing)
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        outcomes = Counter(json.loads(line) for line in pipe)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if begin + outcomes.total() < count:
        outcomes["hang" if code == -signal.SIGALRM else f"crash ({code})"] += 1
    return outcomes


def _read_all(target: Target, count: int, begin: int, pipe: int) -> None:
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 2)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for number, content in enumerate(inputs(target, count)):
        if number >= begin:
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            os.write(pipe, json.dumps(outcome(target, content)).encode() + b"\n")
