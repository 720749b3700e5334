"""The paper's two illustrations, drawn from code: what is computed from a batch, and what data GCD is given."""

from pathlib import Path
from typing import Any

from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from legogcd.paper.figures.style import BLUE, GREEN, MUTED, ORANGE, PURPLE, SKY, VERMILLION, new_figure, save_figure

_FROZEN, _TRAINED, _SIMGCD, _OURS = "#DDE3EA", "#CDE7DC", "#FBE3D2", "#D3E4F4"


def draw_framework(out: Path) -> list[Path]:
    """``paper-framework``: two views through trunk, tail and heads to SimGCD's terms and to those LegoGCD adds."""
    figure, (axes,) = new_figure(
        "LegoGCD: SimGCD's terms, and two that keep what is known",
        "two views of every image; LER with its margin looks at confident views of known classes, DKL holds both views "
        "together",
        12,
        5.4,
    )
    _empty(axes, 12, 5.4)
    for y, view in ((3.9, "view 1"), (1.5, "view 2")):
        _box(axes, 0.1, y - 0.35, 1.3, 0.7, f"image\n{view}", "white")
        _box(axes, 2.0, y - 0.35, 1.35, 0.7, "frozen\ntrunk", _FROZEN)
        _box(axes, 3.75, y - 0.35, 1.35, 0.7, "trained\ntail", _TRAINED)
        _box(axes, 5.7, y + 0.1, 1.5, 0.62, "projector", _TRAINED)
        _box(axes, 5.7, y - 0.72, 1.5, 0.62, "prototypes", _TRAINED)
        for begin, end in (
            ((1.4, y), (2.0, y)),
            ((3.35, y), (3.75, y)),
            ((5.1, y), (5.7, y + 0.41)),
            ((5.1, y), (5.7, y - 0.41)),
        ):
            _arrow(axes, begin, end)
    for x in (2.68, 4.43):
        axes.annotate("", (x, 1.9), (x, 3.5), arrowprops={"arrowstyle": "<->", "color": MUTED, "linestyle": ":"})
        axes.text(x + 0.08, 2.7, "shared", color=MUTED, fontsize=9, va="center")
    terms = (
        (4.45, "contrast of views and labels\nInfoNCE, SupCon", _SIMGCD),
        (3.5, "labels: cross-entropy", _SIMGCD),
        (2.7, "self-distillation between views,\nmean entropy", _SIMGCD),
        (1.6, "LER: lower entropy of confident\nknown views, margin by class (MAP)", _OURS),
        (0.6, "DKL: both views predict alike", _OURS),
    )
    for y, text, color in terms:
        _box(axes, 8.5, y - 0.36, 3.4, 0.72, text, color)
    for y in (3.9, 1.5):
        _arrow(axes, (7.2, y + 0.41), (8.5, 4.45), MUTED)
        for term, color in ((3.5, MUTED), (2.7, MUTED), (1.6, BLUE), (0.6, BLUE)):
            _arrow(axes, (7.2, y - 0.41), (8.5, term), color)
    for x, text, color in ((2.0, "frozen", _FROZEN), (3.6, "trained", _TRAINED), (5.2, "SimGCD", _SIMGCD)):
        _key(axes, x, text, color)
    _key(axes, 6.8, "LegoGCD", _OURS)
    return save_figure(figure, out, "paper-framework")


def draw_data(out: Path) -> list[Path]:
    """``paper-data``: what closed-set classification is given and asked, and what GCD is given and asked."""
    figure, panels = new_figure(
        "What is given, and what is asked",
        "filled: labelled image; open: unlabelled image; one color and shape per true class",
        11,
        4.3,
        columns=2,
    )
    known = (("owl", BLUE, "o"), ("wren", GREEN, "s"), ("gull", VERMILLION, "^"))
    new = (("?", PURPLE, "D"), ("?", ORANGE, "P"))
    for axes, title, unlabelled in (
        (panels[0], "closed-set classification", known),
        (panels[1], "generalized category discovery", (*known, *new)),
    ):
        _empty(axes, 5.4, 4)
        axes.set_title(title, loc="left", fontsize=11.5, fontweight="bold")
        _frame(axes, 0.1, 0.3, 2.3, "labelled")
        _frame(axes, 2.9, 0.3, 2.4, "unlabelled, to be sorted")
        for row, (name, color, marker) in enumerate(known):
            y = 3.0 - 0.55 * row
            axes.text(0.25, y, name, va="center", fontsize=10)
            axes.plot([1.05, 1.5, 1.95], [y] * 3, marker, color=color, markersize=9, linestyle="")
        for row, (name, color, marker) in enumerate(unlabelled):
            y = 3.0 - 0.55 * row
            asked = name if name != "?" else f"new group {row - len(known) + 1}"
            axes.plot([3.1, 3.5, 3.9], [y] * 3, marker, markersize=9, linestyle="", markerfacecolor="none", color=color)
            axes.text(4.2, y, asked, va="center", fontsize=10, color="black" if name != "?" else MUTED)
    _says(panels[0], "every image belongs to a class that has labels")
    _says(panels[1], "known classes by name, the others as new groups; both at once")
    return save_figure(figure, out, "paper-data")


def _empty(axes: Any, width: float, height: float) -> None:
    axes.set(xlim=(0, width), ylim=(0, height), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.grid(visible=False)


def _box(axes: Any, x: float, y: float, width: float, height: float, text: str, color: str) -> None:
    style = "round,pad=0,rounding_size=0.08"
    axes.add_patch(FancyBboxPatch((x, y), width, height, style, facecolor=color, edgecolor=MUTED, linewidth=1))
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=9.5, linespacing=1.2)


def _arrow(axes: Any, begin: tuple[float, float], end: tuple[float, float], color: str = "black") -> None:
    axes.add_patch(FancyArrowPatch(begin, end, arrowstyle="-|>", mutation_scale=9, color=color, linewidth=1, shrinkA=0))


def _key(axes: Any, x: float, text: str, color: str) -> None:
    _box(axes, x, 0.02, 0.3, 0.24, "", color)
    axes.text(x + 0.4, 0.14, text, va="center", fontsize=9.5)


def _frame(axes: Any, x: float, y: float, width: float, title: str) -> None:
    axes.add_patch(
        FancyBboxPatch((x, y), width, 3.1, "round,pad=0,rounding_size=0.1", facecolor="#F7F7F7", edgecolor=SKY)
    )
    axes.text(x + 0.1, y + 3.22, title, va="bottom", fontsize=10, color=MUTED)


def _says(axes: Any, text: str) -> None:
    axes.text(0.1, 0.0, text, va="bottom", fontsize=10)
