"""A run beside other work on the same cores: ``python -m bench.speed.busy``.

The default backbone's step (bench.speed.default_step) with two threads, alone and beside one or two processes that
never rest, of equal or of higher priority (we are nice 10 then). Ours is held against the same loop as it was: with
PyTorch's own operations, and OpenMP's threads spinning while they wait for each other. By turns; wall time a view.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.speed.contest import Contender, said, spread

SPIN = {"GOMP_SPINCOUNT": "300000"}  # what GNU's OpenMP does where nobody says anything, and a choice we leave alone
SLEEP = {"OMP_WAIT_POLICY": "passive"}  # what `import legogcd` asks for; the bench has loaded torch before it
CONTENDERS: dict[str, tuple[str, dict[str, str]]] = {"now": ("kept", SLEEP), "as it was": ("autograd", SPIN)}
SITUATIONS = [(0, 0), (1, 0), (2, 0), (1, 10), (2, 10)]  # other processes, and how nice we are


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.busy", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    report(measure(options.repeats, options.threads))


def measure(repeats: int, threads: int) -> dict[str, Any]:
    from bench.speed.default_step import KEPT_IMAGES, KEPT_VIEWS
    from bench.speed.kept import EFFICIENTNET, write_noise

    with tempfile.TemporaryDirectory() as folder:
        write_noise(Path(folder) / "kept", KEPT_IMAGES, KEPT_VIEWS, "bf16", kept=EFFICIENTNET)
        started = {
            (name, nice): Contender(
                "bench.speed.default_step",
                child,
                ["--folder", folder],
                nice,
                OMP_NUM_THREADS=str(threads),
                **({"OMP_WAIT_POLICY": None} | environment),
            )
            for name, (child, environment) in CONTENDERS.items()
            for nice in (0, 10)
        }
        for contender in started.values():
            contender.ask()
        rounds = [{situation: _turn(started, *situation) for situation in SITUATIONS} for _ in range(repeats)]
        for contender in started.values():
            contender.close()
    return {"threads": threads, "load": os.getloadavg()[0], "situations": [_told(rounds, *one) for one in SITUATIONS]}


def _turn(started: dict[tuple[str, int], Contender], others: int, nice: int) -> dict[str, float]:
    found = {}
    with competitors(others):
        for name in CONTENDERS:
            figures = started[name, nice].ask()
            found[name] = 1e3 * figures["wall"] / figures["views"]
    return found


def _told(rounds: list[dict[tuple[int, int], dict[str, float]]], others: int, nice: int) -> dict[str, Any]:
    alone = (0, 0)  # how nice we are is the same to nobody
    return {
        "others": others,
        "priority": "higher" if nice else "equal",
        "ms_per_view": {name: spread(one[others, nice][name] for one in rounds) for name in CONTENDERS},
        "slower": {name: spread(one[others, nice][name] / one[alone][name] for one in rounds) for name in CONTENDERS},
    }


@contextmanager
def competitors(count: int) -> Iterator[None]:
    """Processes that never rest, while this is open."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def report(figures: dict[str, Any]) -> None:
    print(f"{figures['threads']} threads, load {figures['load']:.1f} (the competitors included)")
    for one in figures["situations"]:
        print(f"{one['others']} other processes of {one['priority']} priority")
        for name in CONTENDERS:
            slower = f"{said(one['slower'][name], 2)} times as long as alone"
            print(f"  {name:10s} {said(one['ms_per_view'][name], 2):24s} ms a view, {slower}")


if __name__ == "__main__":
    main()
