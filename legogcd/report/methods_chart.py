"""Methods side by side as a picture: All, Old and New of each, mean and spread over seeds."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from legogcd.evaluation.results import Result, spread
from legogcd.files import replacing
from legogcd.report.curves_chart import STYLES

_MARKERS = {"all": "o", "old": "^", "new": "s"}
_OFFSETS = {"all": 0.0, "old": -0.22, "new": 0.22}


def draw_comparison(results: Sequence[Result], path: Path, title: str) -> None:
    """Write a PNG: a row a method, in the results' order; bars span one sample standard deviation."""
    methods = list(dict.fromkeys(result.method for result in results))
    figure = Figure(figsize=(8, 1.8 + 0.5 * len(methods)), dpi=150, layout="constrained")
    axes = figure.subplots()
    for part, (color, _) in STYLES.items():
        found = [spread(getattr(row, part) for row in results if row.method == method) for method in methods]
        shown = [(row, value) for row, value in enumerate(found) if value is not None]
        axes.errorbar(
            [100 * value.mean for _, value in shown],
            [row + _OFFSETS[part] for row, _ in shown],
            xerr=[100 * (value.std or 0.0) for _, value in shown],
            color=color,
            marker=_MARKERS[part],
            linestyle="none",
            markersize=7,
            capsize=3,
            label=part.capitalize(),
        )
    for row in range(1, len(methods)):
        axes.axhline(row - 0.5, color="#dddddd", linewidth=0.8)
    axes.set_yticks(range(len(methods)), methods)
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.set_xlabel("accuracy on unlabelled images, %")
    axes.set_title("\n".join(textwrap.wrap(title, 80)), fontsize=10, loc="left")
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")
