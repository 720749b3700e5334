"""How many confident known views a batch has, the unit of the paper's figure: by epoch, and the most per data set."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.ticker import MaxNLocator

from legogcd.paper.figures.curves import End, draw_line, known_part, label_ends, selected, set_epochs, star
from legogcd.paper.figures.runs import DataSet, PlottedLine, listed, methods_of
from legogcd.paper.figures.style import new_figure, save_figure

UNIT = "confident known views per batch"
_PAPER = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}  # no grid behind a number


def counted_lines(dataset: DataSet) -> list[PlottedLine]:
    """The lines of the runs that counted what is, or would be, selected."""
    return dataset.lines_of(run for run in dataset.runs if np.isfinite(selected(run)).any())


def draw_selected(dataset: DataSet, out: Path) -> list[Path]:
    """``selected``: views of unlabelled images that are sure to show a known class, of a batch, by epoch."""
    lines = counted_lines(dataset)
    several = any(len(line.runs) > 1 for line in lines)
    figure, (axes,) = new_figure(
        f"{dataset.name}: high-confidence known samples by epoch",
        f"{methods_of(lines)}{_threshold(lines)}; ★\u00a0maximum"
        f"{' of a seed, thick line: mean of the seeds' if several else ''}",
        8,
        max(4, 0.55 * len(lines) + 0.8),
    )
    ends = []
    for number, line in enumerate(lines):
        end = draw_line(axes, line, selected, number)
        ends.append(End(*end, f"{line.label}\nmax {np.mean(maxima_of(line)):,.1f}", line.look))
        for run in line.runs:
            epochs, values = known_part(run, selected)
            star(axes, epochs[values.argmax()], values.max(), line.look)
    axes.set_ylabel(UNIT)
    axes.set_ylim(0, 1.08 * max(1, *(value for line in lines for value in maxima_of(line))))
    set_epochs(axes, [run for line in lines for run in line.runs])
    label_ends(figure, [(axes, ends)])
    return save_figure(figure, out, f"selected{dataset.suffix}")


def draw_selected_max(datasets: Sequence[DataSet], out: Path) -> list[Path]:
    """``selected-max``: the best epoch's count as bars, a panel a data set (their sizes differ), a bar a method."""
    groups = [(dataset, lines) for dataset in datasets if (lines := counted_lines(dataset))]
    sizes = [len(lines) for _, lines in groups]
    every = [line for _, lines in groups for line in lines]
    several = any(len(line.runs) > 1 for line in every)
    figure, panels = new_figure(
        f"{listed([dataset.name for dataset, _ in groups])}: most high-confidence known samples per batch",
        f"{methods_of(every)}{_threshold(every)}{'; bar: mean, dots: seeds' if several else ''}",
        8,
        0.42 * sum(sizes) + 0.75 * len(groups) + 0.3,
        rows=len(groups),
        height_ratios=[size + 0.6 for size in sizes],
    )
    for axes, (dataset, lines) in zip(panels, groups, strict=True):
        most = [maxima_of(line) for line in lines]
        for place, (line, maxima) in enumerate(zip(lines, most, strict=True)):
            axes.barh(place, np.mean(maxima), 0.68, color=line.look.color, edgecolor="white", hatch=line.look.hatch)
            if len(maxima) > 1:
                axes.plot(
                    maxima, np.full(len(maxima), place), "o", color="black", markeredgecolor="white", markersize=5
                )
            axes.annotate(
                f"{np.mean(maxima):,.1f}",
                (max(maxima), place),
                (6, 0),
                textcoords="offset points",
                va="center",
                bbox=_PAPER,
            )
        axes.set_yticks(range(len(lines)), [line.label for line in lines])
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set_xlim(0, 1.14 * max(max(map(max, most)), 1))
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
        if len(groups) > 1:
            axes.set_title(dataset.name, loc="left", fontsize=11)
    panels[-1].set_xlabel(UNIT)
    return save_figure(figure, out, "selected-max")


def maxima_of(line: PlottedLine) -> list[float]:
    return [float(np.nanmax(selected(run))) for run in line.runs]


def _threshold(lines: Sequence[PlottedLine]) -> str:
    """What counts as confident, where it is the same for all."""
    thresholds = {run.settings.get("threshold") for line in lines for run in line.runs}
    return f"; confidence from {thresholds.pop()} up" if len(thresholds) == 1 and None not in thresholds else ""
