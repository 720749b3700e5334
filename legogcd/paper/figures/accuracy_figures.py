"""Accuracy by epoch: All, Old and New of a run; Old of several runs and how much of it each forgets."""

from pathlib import Path

import numpy as np

from legogcd.evaluation import forgetting
from legogcd.paper.figures.curves import (
    End,
    accuracy_of,
    draw_line,
    known_part,
    label_ends,
    mean_curve,
    plot_curve,
    set_epochs,
    star,
    within_percent,
)
from legogcd.paper.figures.runs import DataSet, PlottedLine, Run, methods_of, seeds_of
from legogcd.paper.figures.style import PARTS, new_figure, save_figure, shorten

UNIT = "accuracy on unlabelled images, %"
old = accuracy_of("old")


def draw_accuracy(run: Run, out: Path) -> list[Path]:
    """``accuracy-<run>``: All, Old and New by epoch."""
    figure, (axes,) = new_figure(
        f"{shorten(run.dataset, 60)}: accuracy by epoch", f"{run.method}, {seeds_of([run])}{_told(run)}", 8, 4
    )
    ends = []
    for number, (part, look) in enumerate(PARTS.items()):
        epochs, values = known_part(run, accuracy_of(part))
        if not len(epochs):
            continue
        plot_curve(axes, epochs, values, look, number)
        ends.append(End(epochs[-1], values[-1], f"{part.capitalize()} {values[-1]:.1f}", look))
        if part == "old" and len(epochs) > 1:
            star(axes, *_best(run), look)
    axes.set_ylabel(UNIT)
    set_epochs(axes, [run])
    within_percent(axes)
    label_ends(figure, [(axes, ends)])
    return save_figure(figure, out, f"accuracy-{run.name}")


def old_lines(dataset: DataSet) -> list[PlottedLine]:
    """The lines of the runs whose Old classes were scored."""
    return dataset.lines_of(run for run in dataset.runs if np.isfinite(old(run)).any())


def draw_old(dataset: DataSet, out: Path) -> list[Path]:
    """``old``: Old accuracy by epoch, one line per method, its best epoch marked and its forgetting told."""
    lines = old_lines(dataset)
    several = any(len(line.runs) > 1 for line in lines)
    figure, (axes,) = new_figure(
        f"{dataset.name}: Old accuracy by epoch",
        f"{methods_of(lines)}; ★\u00a0best epoch{' of a seed, thick line: mean of the seeds' if several else ''}",
        8,
        max(4, 0.55 * len(lines) + 0.8),
    )
    ends = []
    for number, line in enumerate(lines):
        ends.append(End(*draw_line(axes, line, old, number), forgetting_label(line), line.look))
        for run in line.runs:
            if len(known_part(run, old)[0]) > 1:
                star(axes, *_best(run), line.look)
    axes.set_ylabel(f"Old {UNIT}")
    set_epochs(axes, [run for line in lines for run in line.runs])
    within_percent(axes)
    label_ends(figure, [(axes, ends)])
    return save_figure(figure, out, f"old{dataset.suffix}")


def _best(run: Run) -> tuple[float, float]:
    epochs, values = known_part(run, old)
    return float(epochs[values.argmax()]), float(values.max())


def _told(run: Run) -> str:
    epochs, values = known_part(run, old)
    if len(epochs) < 2:
        return ""
    return f"; ★\u00a0best Old {values.max():.1f} at epoch {_best(run)[0]:.0f}, forgetting {forgetting(values):.1f}"


def forgetting_label(line: PlottedLine) -> str:
    last = f"{line.label} {mean_curve(line.runs, old)[1][-1]:.1f}"
    lost = [forgetting(values) for run in line.runs if len(values := known_part(run, old)[1]) > 1]
    if not lost:
        return last
    return f"{last}\nforgets {np.mean(lost):.1f}{f' (mean of {len(lost)})' if len(lost) > 1 else ''}"
