"""What a person sees while a run works: progress, time left, losses by name, All/Old/New where truth is given."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from html import escape
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from legogcd import launched
from legogcd.phases import Phases
from legogcd.wording import percent

SCORES = ("all", "old", "new")


class Quiet:
    """Shows nothing, but knows what each phase took; the base of what shows something."""

    @cached_property
    def phases(self) -> Phases:
        return Phases()

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


class AsWarnings(Quiet):
    """Python's own warnings instead of a screen."""

    def warn(self, text: str) -> None:
        warnings.warn(text, stacklevel=4)


class Hushed(Quiet):
    """Nothing but warnings."""

    def warn(self, text: str) -> None:
        Screen().warn(text)


class Screen(Quiet):
    """Shows all of it in a terminal with rich, and as plain lines, ten or so a stage, where there is no terminal.

    With ``terms`` each term of the loss stands beside the loss, by its brick's name; without ``notes`` there is
    progress alone.
    """

    def __init__(self, console: Console | None = None, terms: bool = False, notes: bool = True) -> None:
        self.console = console or Console(stderr=True, quiet=launched.rank() > 0)  # of several processes one speaks
        self.terms, self.notes = terms, notes

    def note(self, text: str) -> None:
        if self.notes:
            self._say(text)

    def _say(self, text: str) -> None:
        self._print(text)

    def warn(self, text: str) -> None:
        self._print(f"warning: {text}", "yellow")

    def _print(self, text: str, style: str | None = None) -> None:
        """Between words where a terminal's line ends; a log file's lines are whole."""
        whole = not self.console.is_terminal
        self.console.print(text, style=style, highlight=False, markup=False, soft_wrap=whole)

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        if not self.console.is_terminal:
            tenths = _Tenths(total)
            yield lambda done: self._say(f"{what}: {done} of {total}") if tenths.passed(done) else None
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
                    self._say(f"{title}: {epoch_line(metrics, self.terms)}")
                    if tenths.passed(metrics["epoch"])
                    else None
                )
            )
            return
        progress = _progress(self.console)
        task = progress.add_task(title, total=epochs)
        with Live(progress, console=self.console, refresh_per_second=4) as live:

            def update(metrics: dict[str, Any]) -> None:
                progress.update(task, completed=metrics["epoch"])
                live.update(Group(progress, _line(metrics, self.terms)))

            yield update


def epoch_line(metrics: dict[str, Any], terms: bool = False) -> str:
    """An epoch in one line of text; with ``terms`` also what the loss is made of."""
    cells = _cells(metrics, terms).items()
    return ", ".join([f"epoch {metrics['epoch']}", *(f"{name} {value}" for name, value in cells)])


def _cells(metrics: dict[str, Any], terms: bool) -> dict[str, str]:
    cells = {} if metrics["loss"] is None else {"loss": f"{metrics['loss']:.3f}"}
    if terms:
        cells |= {name: f"{value:.3f}" for name, value in metrics["terms"].items()}
    if terms and metrics["selected_by_step"]:  # the confident known views
        cells["selected"] = str(int(sum(metrics["selected_by_step"])))
    return cells | {name.capitalize(): percent(metrics[name]) for name in SCORES if name in metrics}


def _line(metrics: dict[str, Any], terms: bool) -> Text:
    """The numbers under a bar, in one line where the terminal is wide enough."""
    cells = [
        Text(f"{name} {value}".replace(" ", "\N{NO-BREAK SPACE}"), "bold" if name in ("All", "Old", "New") else "")
        for name, value in _cells(metrics, terms).items()
    ]
    return Text("  ").join(cells)


class Notebook(Quiet):
    """The same in a notebook: one line of notes, one bar per stage that is changed in place."""

    def __init__(self, terms: bool = False) -> None:
        self.terms = terms

    def note(self, text: str) -> None:
        print(text)

    def warn(self, text: str) -> None:
        warnings.warn(text, stacklevel=4)

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        bar, tenths = _Bar(), _Tenths(total, parts=100)
        yield lambda done: bar.show(f"{what}: {done} of {total}", done, total) if tenths.passed(done) else None

    @contextmanager
    def training(self, title: str, epochs: int) -> Iterator[Callable[[dict[str, Any]], None]]:
        bar = _Bar()
        yield lambda metrics: bar.show(f"{title}: {epoch_line(metrics, self.terms)}", metrics["epoch"], epochs)


class _Bar:
    """A bar under its words, in one place of a notebook's output."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, words: str, done: int, total: int) -> None:
        from IPython import display

        page: Any = display.HTML(f'<progress value="{done}" max="{max(total, 1)}"></progress> {escape(words)}')
        if self._handle is None:
            self._handle = display.display(page, display_id=True)
        else:
            self._handle.update(page)


def screen(terms: bool = False) -> Quiet:
    """What shows progress where this runs: a notebook's own output, or the terminal."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return Notebook(terms) if type(shell).__name__ == "ZMQInteractiveShell" else Screen(terms=terms)


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

    def __init__(self, total: int, parts: int = 10) -> None:
        self.total, self.parts, self.last = max(total, 1), parts, -1

    def passed(self, done: int) -> bool:
        tenth = self.parts * done // self.total
        if tenth == self.last:
            return False
        self.last = tenth
        return True
