"""How sure the runs are of the unlabelled images whose true class is known: one row per method, medians named."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.paper.figures.runs import DataSet, PlottedLine, Run, methods_of
from legogcd.paper.figures.style import new_figure, save_figure, shorten
from legogcd.run.figure_sample import FigureSample

_BINS = np.linspace(0, 1, 26)


def draw_confidence(
    dataset: DataSet, lines: Sequence[PlottedLine], samples: dict[Run, FigureSample], out: Path
) -> list[Path]:
    """``confidence``: one histogram per line, its seeds pooled, the first line's outline behind the others."""
    pooled = [np.concatenate([samples[run].confidence for run in line.runs]) for line in lines]
    several = any(len(line.runs) > 1 for line in lines)
    figure, panels = new_figure(
        f"{dataset.name}: confidence of known samples",
        f"{methods_of(lines)}; unlabelled images of known classes{', seeds together' if several else ''}"
        f"{f'; dotted outline: {lines[0].label}' if len(lines) > 1 else ''}",
        8,
        max((1.75 if len(lines) < 4 else 1.35) * len(lines) + 0.5, 3.2),
        rows=len(lines),
        sharex=True,
        sharey=True,
    )
    for number, (axes, line, confidence) in enumerate(zip(panels, lines, pooled, strict=True)):
        _histogram(axes, confidence, line)
        if number:
            axes.stairs(_shares(pooled[0]), _BINS, color="black", linewidth=1.2, linestyle=(0, (2, 1)))
        _name_median(axes, float(np.median(confidence)))
        axes.set_title(shorten(line.label, 30), loc="left", fontsize=11, fontweight="bold")
        axes.set_title(_confident(line, samples), loc="right", fontsize=10)
        axes.set_xlim(0, 1)
        axes.label_outer()
    panels[-1].set_xlabel("confidence: the highest probability of a class")
    figure.supylabel("share of images, %", fontsize=10.5)
    return save_figure(figure, out, f"confidence{dataset.suffix}")


def _histogram(axes: Any, confidence: NDArray[np.float32], line: PlottedLine) -> None:
    axes.stairs(_shares(confidence), _BINS, fill=True, color=line.look.color, alpha=0.55)
    axes.stairs(_shares(confidence), _BINS, color=line.look.color, linewidth=1.5)


def _shares(confidence: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.asarray(100 * np.histogram(confidence, _BINS)[0] / len(confidence))


def _name_median(axes: Any, median: float) -> None:
    axes.axvline(median, color="black", linewidth=1.5)
    left = median > 0.5
    axes.annotate(
        f"median {median:.2f}",
        (median, 1),
        (-6 if left else 6, -4),
        ("data", "axes fraction"),
        "offset points",
        ha="right" if left else "left",
        va="top",
        bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.85, "edgecolor": "none"},
    )


def _confident(line: PlottedLine, samples: dict[Run, FigureSample]) -> str:
    """The share that LER would select, where its threshold is told."""
    threshold = line.runs[0].settings.get("threshold")  # the runs of a line have the same settings
    if threshold is None:
        return ""
    chosen = [(samples[run].confidence >= threshold) & samples[run].in_known for run in line.runs]
    return f"{100 * np.concatenate(chosen).mean():.0f} % confident (≥ {threshold:g}) and in a known class"
