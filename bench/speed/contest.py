"""A comparison's contenders: each a process of its own, asked by turns so that a noisy moment hits all of them."""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Figures = dict[str, float]
PLAIN_ALLOCATOR = {"LEGOGCD_KEEP_ALLOCATOR": "1"}  # legogcd.allocator's switch: a contender without our settings
SPINNING = {"OMP_WAIT_POLICY": None}  # without legogcd.thread_wait's, for contenders that do not import legogcd first


class Contender:
    """``python -m module --child name …``, which answers every line it gets with a line of JSON."""

    def __init__(
        self,
        module: str,
        name: str,
        arguments: Iterable[object] = (),
        nice: int = 0,
        copy: Path | None = None,
        **environment: str | None,
    ) -> None:
        """``copy`` is where another copy of the project is whose module it is."""
        command = [sys.executable, "-m", module, "--child", name, *map(str, arguments)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        kept = {name: value for name, value in (os.environ | environment).items() if value is not None}
        if copy is not None:
            kept["PYTHONPATH"] = str(copy)
        words = ["nice", "-n", str(nice), *command] if nice else command
        self.process = subprocess.Popen(words, env=kept, cwd=copy, **pipes)

    def ask(self) -> Figures:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("now\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("a process of the comparison ended early; its error stands above")
        figures: Figures = json.loads(line)
        return figures

    def close(self) -> None:
        self.process.communicate()


def by_turns(contenders: dict[str, Contender], repeats: int) -> list[dict[str, Figures]]:
    """Everyone's answers, round by round, after one that does not count; the processes end with it."""
    for contender in contenders.values():
        contender.ask()
    rounds = [{name: contender.ask() for name, contender in contenders.items()} for _ in range(repeats)]
    for contender in contenders.values():
        contender.close()
    return rounds


def answer(work: Callable[[], int]) -> None:
    """In a contender: do the work at every line that comes in, say what it took; ``work`` returns how many views."""
    with AnonymousMemory() as memory:
        for _ in sys.stdin:
            wall, cpu = time.perf_counter(), time.process_time()
            views = work()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(json.dumps({"views": views, "wall": wall, "cpu": cpu, "peak_mb": memory.peak_mb}), flush=True)


class AnonymousMemory:
    """The most memory of its own a process has while this is open: pages of mapped files are the system's to drop."""

    def __init__(self, interval: float = 0.01) -> None:
        self.peak_mb, self._interval, self._over = anonymous_mb(), interval, threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "AnonymousMemory":
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._watch.join()

    def _look(self) -> None:
        while not self._over.wait(self._interval):
            self.peak_mb = max(self.peak_mb, anonymous_mb())


def anonymous_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system does not tell anonymous memory apart")


def spread(values: Iterable[float]) -> dict[str, float]:
    """Median, least and most, as they go into a result."""
    ordered = sorted(values)
    return {"median": statistics.median(ordered), "least": ordered[0], "most": ordered[-1]}


def compared(
    rounds: list[dict[str, Figures]], clock: str, ratios: dict[str, tuple[str, str]]
) -> dict[str, dict[str, Any]]:
    """Milliseconds a view and memory by contender, and ratios of two of them, taken round by round."""

    def per_view(figures: Figures) -> float:
        return figures[clock] / figures["views"]

    return {
        "ms_per_view": {name: spread(1e3 * per_view(one[name]) for one in rounds) for name in rounds[0]},
        "peak_anonymous_mb": {name: max(one[name]["peak_mb"] for one in rounds) for name in rounds[0]},
        "ratios": {
            name: spread(per_view(one[above]) / per_view(one[below]) for one in rounds)
            for name, (above, below) in ratios.items()
        },
    }


def said(figures: dict[str, float], digits: int = 1) -> str:
    return f"{figures['median']:.{digits}f} ({figures['least']:.{digits}f} to {figures['most']:.{digits}f})"
