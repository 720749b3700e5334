"""How sure the runs are of the unlabelled images whose true class is known: one row per method, medians named.

Drawn twice, as the paper does: of the largest probability and of the largest logit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.paper.figures.runs import DataSet, PlottedLine, Run, methods_of
from legogcd.paper.figures.style import new_figure, save_figure, shorten
from legogcd.run.figure_sample import FigureSample

Values = NDArray[np.float32]
Samples = dict[Run, FigureSample]
_BINS = 25


@dataclass(frozen=True)
class Quantity:
    """What is distributed: its file's name, how a title and an axis call it, and where a sample keeps it."""

    stem: str
    title: str
    axis: str
    of: Callable[[FigureSample], Values | None]
    limits: tuple[float, float] | None = None  # None: those of the values

    def there(self, sample: FigureSample) -> bool:
        values = self.of(sample)
        return values is not None and values.size > 0

    def pooled(self, line: PlottedLine, samples: Samples) -> Values:
        """The values of a line's seeds together."""
        return np.concatenate([values for run in line.runs if (values := self.of(samples[run])) is not None])

    def edges(self, pooled: Sequence[Values]) -> NDArray[np.float64]:
        low, high = self.limits or (min(map(np.min, pooled)), max(map(np.max, pooled)))
        margin = 0 if self.limits else max(0.02 * (high - low), 1e-6)
        return np.linspace(float(low) - margin, float(high) + margin, _BINS + 1, dtype=np.float64)


CONFIDENCE = Quantity(
    "confidence",
    "confidence",
    "confidence: the highest probability of a class",
    lambda sample: sample.confidence,
    (0, 1),
)
LOGIT = Quantity("logit", "largest logits", "largest logit, before the softmax", lambda sample: sample.logit)


def draw_distribution(
    quantity: Quantity, dataset: DataSet, lines: Sequence[PlottedLine], samples: Samples, out: Path
) -> list[Path]:
    """One histogram per line, its seeds pooled, the first line's outline behind the others."""
    pooled = [quantity.pooled(line, samples) for line in lines]
    edges = quantity.edges(pooled)
    several = any(len(line.runs) > 1 for line in lines)
    figure, panels = new_figure(
        f"{dataset.name}: {quantity.title} of known samples",
        f"{methods_of(lines)}; unlabelled images of known classes{', seeds together' if several else ''}"
        f"{f'; dotted outline: {lines[0].label}' if len(lines) > 1 else ''}",
        8,
        max((1.75 if len(lines) < 4 else 1.35) * len(lines) + 0.5, 3.2),
        rows=len(lines),
        sharex=True,
        sharey=True,
    )
    for number, (axes, line, values) in enumerate(zip(panels, lines, pooled, strict=True)):
        histogram(axes, values, edges, line)
        if number:
            axes.stairs(_shares(pooled[0], edges), edges, color="black", linewidth=1.2, linestyle=(0, (2, 1)))
        _name_median(axes, float(np.median(values)), edges)
        axes.set_title(shorten(line.label, 30), loc="left", fontsize=11, fontweight="bold")
        axes.set_title(_confident(line, samples) if quantity is CONFIDENCE else "", loc="right", fontsize=10)
        axes.set_xlim(edges[0], edges[-1])
        axes.label_outer()
    panels[-1].set_xlabel(quantity.axis)
    figure.supylabel("share of images, %", fontsize=10.5)
    return save_figure(figure, out, f"{quantity.stem}{dataset.suffix}")


def histogram(axes: Any, values: Values, edges: NDArray[np.float64], line: PlottedLine) -> None:
    """Shares of the values in percent, filled and outlined in the line's look."""
    axes.stairs(_shares(values, edges), edges, fill=True, color=line.look.color, alpha=0.45)
    axes.stairs(_shares(values, edges), edges, color=line.look.color, linewidth=1.5, linestyle=line.look.dash)


def _shares(values: Values, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(100 * np.histogram(values, edges)[0] / len(values))


def _name_median(axes: Any, median: float, edges: NDArray[np.float64]) -> None:
    axes.axvline(median, color="black", linewidth=1.5)
    left = median > (edges[0] + edges[-1]) / 2
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


def _confident(line: PlottedLine, samples: Samples) -> str:
    """The share that LER would select, where its threshold is told."""
    threshold = line.runs[0].settings.get("threshold")  # the runs of a line have the same settings
    if threshold is None:
        return ""
    chosen = [(samples[run].confidence >= threshold) & samples[run].in_known for run in line.runs]
    return f"{100 * np.concatenate(chosen).mean():.0f} % confident (≥ {threshold:g}) and in a known class"
