"""Every speed and memory benchmark, one after the other: ``python -m bench.speed``, or ``python -m bench``.

Writes results/bench.json, a file a reader can hold against another machine's, and docs/performance.png.
"""

import argparse
import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bench.speed import busy, command, default_step, encode, memory, run, runtimes, scale, step, tail
from bench.speed import report as report_page
from bench.speed.machine import measure as measure_machine
from bench.speed.picture import draw
from legogcd.files import write_text
from legogcd.version import __version__


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"))
    parser.add_argument("--picture", type=Path, default=Path("docs/performance.png"))
    parser.add_argument("--only", nargs="+", choices=sorted(PARTS), default=list(PARTS))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    found = json.loads(options.out.read_text()) if options.out.exists() else {}
    for name in options.only:
        print(f"\n== {name}", flush=True)
        found[name] = PARTS[name](options)
        found["about"] = {
            "legogcd": __version__,
            "torch": torch.__version__,
            "processor": platform.machine(),
            **measure_machine(options.clock),
        }
        write_text(options.out, json.dumps(found, indent=1) + "\n")
    draw(found, options.picture)


def _tail(options: argparse.Namespace) -> dict[str, Any]:
    own = tail.read_options(["--threads", str(options.threads), "--clock", options.clock])
    figures = tail.measure(own)
    tail.report(figures, own)
    return figures


def _run(options: argparse.Namespace) -> dict[str, Any]:
    figures = run.measure(run.read_options(["--threads", str(options.threads), "--clock", options.clock]))
    run.report(figures)
    return figures


def _encode(options: argparse.Namespace) -> dict[str, Any]:
    figures = encode.measure(encode.read_options([]))
    encode.report(figures)
    return figures


def _memory(options: argparse.Namespace) -> dict[str, Any]:
    figures = memory.measure(options.threads)
    memory.report(figures)
    return figures


def _step(options: argparse.Namespace) -> dict[str, Any]:
    figures = step.measure(15, options.threads, options.clock, "bf16")
    step.report(figures)
    return figures


def _scale(options: argparse.Namespace) -> dict[str, Any]:
    figures = scale.measure(3, options.threads)
    scale.report(figures)
    return figures


def _default_step(options: argparse.Namespace) -> dict[str, Any]:
    own = default_step.read_options(["--threads", str(options.threads), "--clock", options.clock])
    figures = default_step.measure(own)
    default_step.report(figures)
    return figures


def _busy(options: argparse.Namespace) -> dict[str, Any]:
    figures = busy.measure(2, options.threads)
    busy.report(figures)
    return figures


def _runtimes(options: argparse.Namespace) -> dict[str, Any]:
    own = runtimes.read_options(["--threads", str(options.threads), "--clock", options.clock])
    figures = runtimes.measure(own)
    runtimes.report(figures)
    return figures


def _report(options: argparse.Namespace) -> dict[str, Any]:
    figures = report_page.measure(None)
    report_page.report(figures)
    return figures


def _command(options: argparse.Namespace) -> dict[str, Any]:
    figures = command.measure(command.read_options([]))
    command.report(figures)
    return figures


PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "tail": _tail,
    "run": _run,
    "encode": _encode,
    "memory": _memory,
    "step": _step,
    "scale": _scale,
    "default step": _default_step,
    "busy": _busy,
    "runtimes": _runtimes,
    "report": _report,
    "command": _command,
}

if __name__ == "__main__":
    main()
