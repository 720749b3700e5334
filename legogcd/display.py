"""What a person sees while a run works: progress, time left, losses by name, All/Old/New where truth is given."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from legogcd.wording import percent

SCORES = ("all", "old", "new")


class Quiet:
    """Shows nothing; the base of what shows something."""

    def note(self, text: str) -> None:
        """Something worth knowing."""

    def warn(self, text: str) -> None:
        """Something the person should look at; the run goes on."""

    def counting(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """A context whose value is told how many of ``total`` are done."""
        return nullcontext(lambda done: None)

    def training(self, title: str, epochs: int) -> AbstractContextManager[Callable[[dict[str, Any]], None]]:
        """A context whose value is told each epoch's metrics."""
        return nullcontext(lambda metrics: None)


class Screen(Quiet):
    """Shows all of it in a terminal with rich, and as plain lines, ten or so a stage, where there is no terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)

    def note(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def warn(self, text: str) -> None:
        self.console.print(f"warning: {text}", style="yellow", highlight=False, markup=False, soft_wrap=True)

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        if not self.console.is_terminal:
            tenths = _Tenths(total)
            yield lambda done: self.note(f"{what}: {done} of {total}") if tenths.passed(done) else None
            return
        with _progress(self.console) as progress:
            task = progress.add_task(what, total=total)
            yield lambda done: progress.update(task, completed=done)

    @contextmanager
    def training(self, title: str, epochs: int) -> Iterator[Callable[[dict[str, Any]], None]]:
        if not self.console.is_terminal:
            tenths = _Tenths(epochs)
            yield (
                lambda metrics: (
                    self.note(f"{title}: {epoch_line(metrics)}") if tenths.passed(metrics["epoch"]) else None
                )
            )
            return
        progress = _progress(self.console)
        task = progress.add_task(title, total=epochs)
        with Live(progress, console=self.console, refresh_per_second=4) as live:

            def update(metrics: dict[str, Any]) -> None:
                progress.update(task, completed=metrics["epoch"])
                live.update(Group(progress, _table(metrics)))

            yield update


def epoch_line(metrics: dict[str, Any]) -> str:
    """An epoch in one line of text."""
    return ", ".join([f"epoch {metrics['epoch']}", *(f"{name} {value}" for name, value in _cells(metrics).items())])


def _cells(metrics: dict[str, Any]) -> dict[str, str]:
    cells = {} if metrics["loss"] is None else {"loss": f"{metrics['loss']:.3f}"}
    cells |= {name: f"{value:.3f}" for name, value in metrics["terms"].items()}
    if metrics["selected_by_step"]:  # the confident known views
        cells["selected"] = str(int(sum(metrics["selected_by_step"])))
    return cells | {name.capitalize(): percent(metrics[name]) for name in SCORES if name in metrics}


def _table(metrics: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    cells = _cells(metrics)
    for name in cells:
        table.add_column(name, justify="right", style="bold" if name in ("All", "Old", "New") else "")
    table.add_row(*cells.values())
    return table


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )


class _Tenths:
    """Says when another tenth of the way is behind, so that a log file stays readable."""

    def __init__(self, total: int) -> None:
        self.total, self.last = max(total, 1), -1

    def passed(self, done: int) -> bool:
        tenth = 10 * done // self.total
        if tenth == self.last:
            return False
        self.last = tenth
        return True
