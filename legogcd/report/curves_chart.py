"""A run's curves by epoch as a picture: All/Old/New where truth was given, losses otherwise."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from legogcd.files import replacing

# Okabe and Ito's colors, told apart by color-blind readers; line styles tell them apart in grey.
STYLES = {"all": ("#000000", "-"), "old": ("#0072B2", "--"), "new": ("#D55E00", "-.")}
_TERM_NAMES = {
    "info_nce": "InfoNCE",
    "sup_con": "SupCon",
    "supervised_ce": "supervised CE",
    "self_distillation": "self-distillation",
    "mean_entropy": "mean entropy",
    "dkl": "DKL",
    "ler": "LER",
}
_TERM_STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_TERM_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def draw_curves(metrics: list[dict[str, Any]], path: Path, title: str) -> None:
    """Write a PNG of what an epoch-by-epoch log holds."""
    scored = any(entry.get("all") is not None for entry in metrics)
    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    axes: Any = figure.subplots()
    epochs = [entry["epoch"] for entry in metrics]
    if scored:
        _draw_accuracy(axes, epochs, metrics)
    else:
        _draw_terms(axes, epochs, metrics)
    axes.set_xlabel("epoch")
    axes.set_title(title)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")


def _draw_accuracy(axes: Any, epochs: list[int], metrics: list[dict[str, Any]]) -> None:
    for name, (color, style) in STYLES.items():
        values = [float("nan") if entry.get(name) is None else 100 * entry[name] for entry in metrics]
        if any(value == value for value in values):
            axes.plot(
                epochs,
                values,
                color=color,
                linestyle=style,
                linewidth=2,
                label=f"{name.capitalize()} {values[-1]:.1f}",
                marker="o" if len(epochs) == 1 else None,
            )
    axes.set_ylabel("accuracy on unlabelled images, %")
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, 0), min(high, 101))


def _draw_terms(axes: Any, epochs: list[int], metrics: list[dict[str, Any]]) -> None:
    for number, name in enumerate(metrics[0]["terms"]):
        values = [entry["terms"][name] for entry in metrics]
        axes.plot(
            epochs,
            values,
            color=_TERM_COLORS[number % 7],
            linestyle=_TERM_STYLES[number % 7],
            linewidth=2,
            label=_TERM_NAMES.get(name, name),
            marker="o" if len(epochs) == 1 else None,
        )
    axes.set_ylabel("loss terms, unweighted")
