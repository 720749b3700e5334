"""What a command's phases took: into the run's timing.jsonl, and with -v onto the screen."""

import time
from pathlib import Path

import typer

from legogcd.cli.volume import is_verbose
from legogcd.phases import Phases


def seconds_since_start() -> float:
    """How long ago this process was started: the interpreter and all imports are in it."""
    import psutil

    return max(0.0, time.time() - float(psutil.Process().create_time()))


def tell_phases(phases: Phases, run: Path) -> None:
    """Leave the phases in the run folder; say them where somebody wants to know more."""
    from legogcd.training.journal import Journal

    Journal(run).time_phases(phases)
    if is_verbose():
        typer.echo(f"{sum(phases.seconds.values()):.1f} seconds in all:")
        for line in phases.lines():
            typer.echo(f"  {line}")
