"""Our results beside the paper's figures: which runs belong to a line, their mean and spread, and the difference."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from legogcd.evaluation.results import MeanSpread, Result, spread
from legogcd.paper.reproduce.published_tables import ACCURACIES, Block, Cell, Delta, PaperTable, Row, Sizes
from legogcd.paper.splits import old_and_new

_TEST = tuple(f"test_{part}" for part in ACCURACIES)


class Ours(NamedTuple):
    """A figure of ours in the paper's unit (percent, or a count) and its sample standard deviation over seeds."""

    value: float
    std: float | None = None


@dataclass(frozen=True)
class TableLine:
    """A table's line, filled in: per column the paper's figure, ours and the difference; None where there is none."""

    label: str
    kind: str  # mean, std, delta or sizes
    dataset: str
    method: str
    settings: str
    paper: tuple[float | None, ...]
    ours: tuple[Ours | None, ...]
    against: tuple[float | None, ...]
    seeds: tuple[int, ...] = ()
    test: tuple[Ours | None, ...] = (None, None, None)
    runs: tuple[Result, ...] = ()
    digits: int = 1

    @property
    def difference(self) -> tuple[float | None, ...]:
        """Ours as it is shown, minus what it is held against."""
        pairs = zip(self.ours, self.against, strict=True)
        return tuple(
            None if ours is None or other is None else round(round(ours.value, self.digits) - other, self.digits)
            for ours, other in pairs
        )


@dataclass(frozen=True)
class Panel:
    """One block of a table, filled with the runs of one setup (None: there are no runs)."""

    title: str
    setup: str | None
    lines: tuple[TableLine, ...]


@dataclass(frozen=True)
class TableComparison:
    """A paper's table with ours beside it: a panel for every block and setup, and what a reader should know."""

    table: PaperTable
    panels: tuple[Panel, ...]
    notes: tuple[str, ...]


def compare_table(
    table: PaperTable, results: Iterable[Result], counts: Mapping[str, tuple[int, int]] | None = None
) -> TableComparison:
    """The table with the results that belong to it; ``counts`` are (labelled, unlabelled) images by data set."""
    results = list(results)
    panels = [panel for block in table.blocks for panel in _panels(block, results, counts or {})]
    shown = {line.label for panel in panels for line in panel.lines}
    rows = [row for block in table.blocks for row in block.rows if row.label in shown]
    notes = dict.fromkeys([*(row.note for row in rows if row.note), *table.notes])
    return TableComparison(table, tuple(panels), tuple(notes))


def _panels(block: Block, results: Sequence[Result], counts: Mapping[str, tuple[int, int]]) -> list[Panel]:
    """The block once for every setup that has runs for one of its lines, the full protocol first; at least once."""
    sizes = [_sizes_line(row, counts.get(row.dataset)) for row in block.rows if isinstance(row, Sizes)]
    if sizes:
        return [Panel(block.title, "" if counts else None, tuple(sizes))]
    cells = [row.cell for row in block.rows if isinstance(row, Row)]
    setups = sorted({run.setup for run in results if any(_belongs(run, cell) for cell in cells)})
    panels = []
    for setup in setups or (None,):
        runs = [run for run in results if run.setup == setup]
        lines = [_line(row, runs) for row in block.rows if not isinstance(row, Sizes)]
        panels.append(Panel(block.title, setup, tuple(line for line in lines if line is not None)))
    return panels


def _line(row: Row | Delta, runs: Sequence[Result]) -> TableLine | None:
    line = _run_line(row, runs) if isinstance(row, Row) else _gain_line(row, runs)
    return None if row.optional and not line.seeds else line


def _run_line(row: Row, results: Sequence[Result]) -> TableLine:
    cell, runs = row.cell, runs_of(row.cell, results)
    found = [spread(run.percent(part) for run in runs) for part in ACCURACIES]
    ours = [_deviation(part) if row.measure == "std" else _mean(part) for part in found]
    return TableLine(
        label=row.label,
        kind=row.measure,
        dataset=cell.dataset,
        method=cell.method,
        settings=cell.settings_text,
        paper=cell.published or (None, None, None),
        ours=tuple(ours),
        against=row.against or (None, None, None),
        seeds=tuple(run.seed for run in runs),
        test=tuple(_mean(spread(run.percent(part) for run in runs)) for part in _TEST),
        runs=tuple(runs),
        digits=2 if row.measure == "std" else 1,
    )


def _gain_line(row: Delta, results: Sequence[Result]) -> TableLine:
    """Gains are taken seed by seed: what two runs of a seed share does not blur them."""
    gained = {run.seed: run for run in runs_of(row.of, results)}
    base = {run.seed: run for run in runs_of(row.over, results)}
    seeds = tuple(seed for seed in gained if seed in base)
    pairs = [(gained[seed], base[seed]) for seed in seeds]
    figures = row.published or (None, None, None)
    return TableLine(
        label=row.label,
        kind="delta",
        dataset=row.of.dataset,
        method=row.of.method,
        settings=row.of.settings_text,
        paper=figures,
        ours=tuple(_mean(spread(_gain(pair, part) for pair in pairs)) for part in ACCURACIES),
        against=figures,
        seeds=seeds,
        test=tuple(_mean(spread(_gain(pair, part) for pair in pairs)) for part in _TEST),
    )


def _sizes_line(row: Sizes, counts: tuple[int, int] | None) -> TableLine:
    old, new = old_and_new(row.dataset)
    ours = (None,) * 4 if counts is None else tuple(Ours(n) for n in (*counts, len(old), len(old) + len(new)))
    return TableLine(row.label, "sizes", row.dataset, "", "", row.published, ours, row.published, digits=0)


def runs_of(cell: Cell, results: Iterable[Result]) -> list[Result]:
    """A cell's runs by seed; where runs differ in length only, the longest count."""
    runs = [run for run in results if _belongs(run, cell)]
    longest = max((run.epochs for run in runs), default=0)
    return sorted((run for run in runs if run.epochs == longest), key=lambda run: run.seed)


def _belongs(run: Result, cell: Cell) -> bool:
    same = (run.dataset, run.method, run.settings) == (cell.dataset, cell.method, cell.settings_text)
    return same and (cell.seeds is None or run.seed in cell.seeds)


def _gain(pair: tuple[Result, Result], part: str) -> float | None:
    gained, base = (run.percent(part) for run in pair)
    return None if gained is None or base is None else gained - base


def _mean(found: MeanSpread | None) -> Ours | None:
    return None if found is None else Ours(found.mean, found.std)


def _deviation(found: MeanSpread | None) -> Ours | None:
    return None if found is None or found.std is None else Ours(found.std)
