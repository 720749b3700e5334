"""A comparison with the paper as text: Markdown that reads well in a terminal, CSV, and LaTeX with booktabs."""

import csv
import io
from collections.abc import Callable, Collection, Iterable, Sequence

from legogcd.evaluation.results import Result, spread
from legogcd.paper.reproduce.beside_published import Ours, Panel, TableComparison, TableLine, compare_table
from legogcd.paper.reproduce.published_tables import ACCURACIES, SIZES, dataset_table

MISSING = "–"
_LEGEND = "diff = ours − paper; ours: mean ± sample standard deviation over seeds, in percent"
_DETAILS = ("test_all", "test_old", "test_new", "nmi", "ari", "forgetting")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "–": "--",
    "±": r"$\pm$",
    "−": "$-$",
    "→": r"$\rightarrow$",
    "≈": r"$\approx$",
    "×": r"$\times$",
    "Δ": r"$\Delta$",
    "β": r"$\beta$",
    "δ": r"$\delta$",
    "ε": r"$\varepsilon$",
}


def to_markdown(comparison: TableComparison) -> str:
    """A table for every data set and setup, columns aligned, notes below."""
    return _page(comparison, lambda panel: [_grid(_header(comparison), _cells(panel))])


def to_csv(comparison: TableComparison) -> str:
    """A row for every line and setup, with ours to four digits, its deviation and the test split's."""
    keys = list(comparison.table.columns)
    header = ["table", "dataset", "setup", "row", "kind", "method", "settings", "seeds"]
    header += [f"paper_{key}" for key in keys]
    header += [name for key in keys for name in (f"ours_{key}", f"ours_{key}_std")]
    header += [f"difference_{key}" for key in keys]
    header += [name for key in ACCURACIES for name in (f"test_{key}", f"test_{key}_std")]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for panel in comparison.panels:
        for line in panel.lines:
            row = [comparison.table.name, line.dataset, panel.setup, line.label, line.kind, line.method, line.settings]
            seeds = " ".join(map(str, line.seeds))
            writer.writerow([*row, seeds, *line.paper, *_with_std(line.ours), *line.difference, *_with_std(line.test)])
    return text.getvalue()


def to_latex(comparison: TableComparison) -> str:
    """One floating table (``booktabs``), the data sets below each other, notes under it."""
    columns = list(comparison.table.columns.values())
    n, with_seeds = len(columns), not _is_of_sizes(comparison)
    total = 1 + 3 * n + with_seeds
    seeds = [" "] if with_seeds else []
    groups = [" ", *(_span(n, name) for name in ("paper", "ours")), *seeds, _span(n, "ours $-$ paper")]
    first = 2 + 2 * n + with_seeds
    rules = "".join(rf"\cmidrule(lr){{{start}-{start + n - 1}}}" for start in (2, 2 + n, first))
    names = [comparison.table.heading, *columns, *columns, *(["seeds"] if with_seeds else []), *columns]
    lines = [
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{_latex(comparison.table.title)}}}",
        rf"\label{{tab:legogcd-{comparison.table.name}}}",
        rf"\begin{{tabular}}{{l{'r' * (total - 1)}}}",
        r"\toprule",
        _latex_row(groups),
        rules,
        _latex_row(map(_latex, names)),
    ]
    for panel in comparison.panels:
        heading = _latex(f"{panel.title}; {_caption(panel)}")
        lines += [r"\midrule", rf"\multicolumn{{{total}}}{{p{{0.95\linewidth}}}}{{\raggedright {heading}}} \\"]
        lines += [_latex_row(map(_latex, cells)) for cells in _cells(panel)]
    lines += [r"\bottomrule", r"\end{tabular}", r"\par\raggedright\footnotesize"]
    lines += [rf"{_latex(note)}\par" for note in comparison.notes]
    return "\n".join([*lines, r"\end{table*}"]) + "\n"


def row_report(dataset: str, methods: Collection[str], results: Iterable[Result]) -> str:
    """One data set's lines: the paper's, ours, the difference, gains over SimGCD, and what else ours were scored by.

    Runs of the methods with other settings than the published ones get lines of their own.
    """
    results = [result for result in results if result.dataset == dataset]
    settings = {method: sorted({run.settings for run in results if run.method == method}) for method in methods}
    comparison = compare_table(dataset_table(dataset, methods, settings), results)
    return _page(comparison, lambda panel: [_grid(_header(comparison), _cells(panel)), _details(panel)])


def _page(comparison: TableComparison, tables: Callable[[Panel], list[str]]) -> str:
    parts = [f"## {comparison.table.title}", "" if _is_of_sizes(comparison) else _LEGEND]
    for panel in comparison.panels:
        parts += [f"### {_escaped(f'{panel.title}; {_caption(panel)}')}", *tables(panel)]
    parts.append("\n".join(f"- {_escaped(note)}" for note in comparison.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _details(panel: Panel) -> str:
    header = ["ours", "epochs", "test: All", "Old", "New", "NMI", "ARI", "forgetting", "time a run", "memory"]
    rows = {}
    for line in panel.lines:
        if line.runs:  # both lines of SimGCD have the same runs
            label = "SimGCD" if line.method == "simgcd" and not line.settings else line.label
            scores = [str(spread(getattr(run, name) for run in line.runs) or MISSING) for name in _DETAILS]
            rows[label] = [label, f"{line.runs[0].epochs}", *scores, _time(line.runs), _memory(line.runs)]
    return _grid(header, list(rows.values())) if rows else ""


def _time(runs: Sequence[Result]) -> str:
    found = spread(run.seconds for run in runs)
    if found is None:
        return MISSING
    minutes = round(found.mean / 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min" if minutes else "< 1 min"


def _memory(runs: Sequence[Result]) -> str:
    known = [run.peak_memory for run in runs if run.peak_memory is not None]
    return f"{max(known) / 1e9:.1f} GB" if known else MISSING


def _is_of_sizes(comparison: TableComparison) -> bool:
    return comparison.table.columns is SIZES


def _caption(panel: Panel) -> str:
    if panel.lines and panel.lines[0].kind == "sizes":
        return "ours: the data sets found" if panel.setup is not None else "ours: no data set found"
    if panel.setup is None:
        return "ours: no runs yet"
    return f"ours: {panel.setup or 'the published protocol'}"


def _header(comparison: TableComparison) -> list[str]:
    first, *rest = comparison.table.columns.values()
    seeds = [] if _is_of_sizes(comparison) else ["seeds"]
    paper, ours, difference = (f"{group}: {first}" for group in ("paper", "ours", "diff"))
    return [comparison.table.heading, paper, *rest, ours, *rest, *seeds, difference, *rest]


def _cells(panel: Panel) -> list[list[str]]:
    return [_line_cells(line) for line in panel.lines]


def _line_cells(line: TableLine) -> list[str]:
    gain = line.kind == "delta"
    paper = [_number(value, line.digits, signed=gain) for value in line.paper]
    ours = [_figure(value, line.digits, signed=gain) for value in line.ours]
    seeds = [] if line.kind == "sizes" else [str(len(line.seeds)) if line.seeds else MISSING]
    difference = [_number(value, line.digits, signed=True) for value in line.difference]
    return [line.label, *paper, *ours, *seeds, *difference]


def _figure(ours: Ours | None, digits: int, signed: bool) -> str:
    if ours is None or ours.std is None:
        return _number(ours and ours.value, digits, signed)
    return f"{_number(ours.value, digits, signed)} ± {ours.std:.{digits}f}"


def _number(value: float | None, digits: int, signed: bool) -> str:
    if value is None:
        return MISSING
    value = round(value, digits) + 0.0  # no minus before a zero
    return f"{value:{'+' if signed and value else ''},.{digits}f}".replace("-", "−")


def _with_std(figures: Sequence[Ours | None]) -> list[float | None]:
    values = [value for figure in figures for value in (figure or (None, None))]
    return [None if value is None else round(value, 4) for value in values]


def _grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, names to the left, figures to the right."""
    table = [[_escaped(cell) for cell in row] for row in (header, *rows)]
    first, *others = [max(map(len, column)) for column in zip(*table, strict=True)]
    rule = ["-" * first, *("-" * (width - 1) + ":" for width in others)]
    for row in table:
        row[:] = [row[0].ljust(first), *(cell.rjust(width) for cell, width in zip(row[1:], others, strict=True))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (table[0], rule, *table[1:]))


def _escaped(text: str) -> str:
    return text.replace("|", r"\|")


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _latex_row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _span(columns: int, text: str) -> str:
    return rf"\multicolumn{{{columns}}}{{c}}{{{text}}}"
