"""Lines by epoch: a thin one a seed, a thick one for their mean, and each line's name at its end."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from legogcd.paper.figures.runs import Curve, PlottedLine, Run
from legogcd.paper.figures.style import DPI, Look

Values = Callable[[Run], Curve]
_MARKERS_A_LINE = 8


class End(NamedTuple):
    """Where a line ends, and what is written there."""

    x: float
    y: float
    text: str
    look: Look


def accuracy_of(part: str) -> Values:
    """The curve of All, Old or New."""
    return lambda run: run.accuracy[part]


def selected(run: Run) -> Curve:
    return run.selected


def known_part(run: Run, values: Values) -> tuple[Curve, Curve]:
    """The epochs that have a value, and their values."""
    there = np.isfinite(values(run))
    return run.epochs[there], values(run)[there]


def mean_curve(runs: Sequence[Run], values: Values) -> tuple[Curve, Curve]:
    """The mean over runs of the epochs that all of them have; where there is none, of those any has."""
    curves = [dict(zip(*known_part(run, values), strict=True)) for run in runs]
    epochs = sorted(set.intersection(*map(set, curves)) or set().union(*curves))
    means = [np.mean([curve[epoch] for curve in curves if epoch in curve]) for epoch in epochs]
    return np.array(epochs), np.array(means)


def draw_line(axes: Any, line: PlottedLine, values: Values, number: int = 0) -> tuple[float, float]:
    """Draw a line, its seeds thin beside their mean; returns its last point. ``number`` staggers the markers."""
    epochs, means = mean_curve(line.runs, values)
    if len(line.runs) > 1:
        for run in line.runs:
            axes.plot(*known_part(run, values), color=line.look.color, linewidth=0.8, alpha=0.45)
    plot_curve(axes, epochs, means, line.look, number)
    return float(epochs[-1]), float(means[-1])


def plot_curve(axes: Any, epochs: Curve, values: Curve, look: Look, number: int = 0) -> None:
    every = max(1, -(-len(epochs) // _MARKERS_A_LINE))
    axes.plot(
        epochs,
        values,
        color=look.color,
        linestyle=look.dash,
        linewidth=2,
        marker=look.marker,
        markersize=5,
        markevery=(number * max(1, every // 3) % every, every),
    )


def star(axes: Any, epoch: float, value: float, look: Look) -> None:
    """Mark a point of a curve that is told of: the best epoch, the maximum."""
    axes.plot(
        [epoch], [value], "*", color=look.color, markersize=12, markeredgecolor="white", markeredgewidth=0.7, zorder=5
    )


def set_epochs(axes: Any, runs: Sequence[Run]) -> None:
    """The epoch axis from the first to the last epoch of any run."""
    first, last = min(run.epochs.min() for run in runs), max(run.epochs.max() for run in runs)
    margin = max(0.02 * (last - first), 0.5 if first == last else 0.05)
    axes.set_xlim(first - margin, last + margin)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    axes.set_xlabel("epoch")


def within_percent(axes: Any) -> None:
    """Room around the curves, but none beyond 0 and 100 %."""
    low, high = axes.get_ylim()
    if high - low < 2:  # a flat line is not made to look like a mountain
        low, high = (low + high) / 2 - 1, (low + high) / 2 + 1
    axes.set_ylim(max(low, -1), min(high, 101))


def label_ends(figure: Figure, panels: Sequence[tuple[Any, Sequence[End]]]) -> None:
    """Name each line right of its panel where it ends, beside its marker; names that would overlap are moved apart."""
    names = [[_name(axes, end.text) for end in ends] for axes, ends in panels]
    figure.draw_without_rendering()  # lays the panels out beside the names
    figure.set_layout_engine("none")
    for texts, (axes, ends) in zip(names, panels, strict=True):
        box = axes.get_window_extent()
        wanted = np.array([axes.transData.transform((end.x, end.y))[1] for end in ends])
        heights = np.array([text.get_window_extent().height for text in texts]) + 0.02 * DPI
        for text, end, height in zip(texts, ends, spread(wanted, heights, box.y0, box.y1), strict=True):
            fraction = (height - box.y0) / box.height
            text.xy = (1, fraction)
            _lead(axes, end, 1 + 10 / 72 * DPI / box.width, fraction)


def _name(axes: Any, text: str) -> Any:
    return axes.annotate(text, (1, 0), (16, 0), "axes fraction", "offset points", va="center", linespacing=1.15)


def _lead(axes: Any, end: End, x: float, y: float) -> None:
    """A thin line from a line's end to its name, and its marker there."""
    pen = {"arrowstyle": "-", "color": end.look.color, "linewidth": 1, "linestyle": ":", "shrinkA": 0, "shrinkB": 2}
    axes.annotate("", (end.x, end.y), (x, y), "data", "axes fraction", arrowprops=pen)
    axes.plot(
        [x], [y], end.look.marker, color=end.look.color, markersize=6, transform=axes.transAxes, clip_on=False, zorder=6
    )


def spread(wanted: NDArray[np.float64], heights: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """Centers as near as can be to the wanted ones so that nothing overlaps, in the same order, low to high.

    Least squares under order, Σ (c − wanted)² with c_{i+1} − c_i ≥ (h_i + h_{i+1}) / 2, is an isotonic regression.

    >>> spread(np.array([5.0, 5.0, 9.0]), np.full(3, 2.0), 0, 10)
    array([4., 6., 9.])
    """
    order = np.argsort(wanted, kind="stable")
    tall = heights[order]
    gaps = np.concatenate([[0], np.cumsum((tall[:-1] + tall[1:]) / 2)])
    bases = np.asarray(isotonic_regression(wanted[order] - gaps).x)
    lowest, highest = low + tall[0] / 2, high - tall[-1] / 2 - gaps[-1]
    centers = np.empty_like(bases)
    centers[order] = np.maximum(np.minimum(bases, highest), lowest) + gaps
    return centers
