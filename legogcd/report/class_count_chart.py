"""An estimate of the number of classes as a picture: its curve, the interval, and what each part of it says."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, ScalarFormatter

from legogcd.clustering.how_many.choice import Estimate
from legogcd.files import replacing

_CURVE, _CHOSEN, _INTERVAL = "#0072B2", "#D55E00", "#E69F00"  # Okabe and Ito's; line styles differ too
_WIDE = 12  # candidates spread over more than this factor are drawn on a logarithmic axis


def draw_class_count(estimate: Estimate, path: Path, title: str) -> None:
    """Write a PNG: score by candidate, the estimate as a line, its interval shaded, its parts as bars below."""
    rows = len(estimate.parts) + 1 if estimate.parts else 0
    figure = Figure(figsize=(8, 4.5 + 0.3 * rows), dpi=120, layout="constrained")
    panels = figure.subplots(2 if rows else 1, 1, sharex=True, squeeze=False, height_ratios=_heights(rows))[:, 0]
    panels[0].set_title(title)
    _draw_curve(panels[0], estimate)
    if rows:
        _draw_intervals(panels[1], [estimate, *estimate.parts])
    _set_candidates(panels[-1], estimate)
    panels[-1].set_xlabel("classes, known and new")
    for panel in panels:
        panel.axvline(estimate.classes, color=_CHOSEN, linestyle="--", linewidth=2, zorder=1)
        panel.axvspan(estimate.low, estimate.high, color=_INTERVAL, alpha=0.25, linewidth=0, zorder=0)
        panel.spines[["top", "right"]].set_visible(False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")


def _heights(rows: int) -> list[float]:
    return [4, 0.3 + 0.35 * rows] if rows else [1]


def _draw_curve(axes: Any, estimate: Estimate) -> None:
    numbers, scores = zip(*estimate.curve, strict=True)
    axes.plot(numbers, scores, color=_CURVE, linewidth=2, marker="o", markersize=3.5, zorder=2)
    axes.set_ylabel(estimate.score_name)
    axes.grid(alpha=0.25)
    right = estimate.classes > (numbers[0] * numbers[-1]) ** 0.5  # the label goes where there is room
    axes.annotate(
        f"{estimate.classes} classes\nlikely {estimate.low} to {estimate.high}",
        xy=(estimate.classes, 0.02),
        xycoords=("data", "axes fraction"),
        xytext=(-6 if right else 6, 0),
        textcoords="offset points",
        ha="right" if right else "left",
        va="bottom",
        fontsize=11,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 2},
    )


def _draw_intervals(strip: Any, estimates: list[Estimate]) -> None:
    names = [estimate.approach for estimate in estimates]
    for row, estimate in enumerate(estimates):
        strip.plot([estimate.low, estimate.high], [row, row], color="#000000", linewidth=2, solid_capstyle="butt")
        strip.plot(estimate.classes, row, color=_CHOSEN if row == 0 else _CURVE, marker="o", markersize=7)
    strip.set_yticks(range(len(names)), names)
    strip.set_ylim(len(names) - 0.5, -0.5)


def _set_candidates(axes: Any, estimate: Estimate) -> None:
    """The range of the curve; a part's interval may run out of it."""
    first, last = estimate.curve[0][0], estimate.curve[-1][0]
    if last > _WIDE * first:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(_round_numbers(first, last))
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlim(first / 1.05, last * 1.05)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        room = max(0.5, 0.02 * (last - first))
        axes.set_xlim(first - room, last + room)


def _round_numbers(first: int, last: int) -> Any:
    """Ticks at 1, 2, 3 and 5 times powers of ten."""
    return FixedLocator([d * 10**p for p in range(6) for d in (1, 2, 3, 5) if first <= d * 10**p <= last])
