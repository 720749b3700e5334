"""The look of the paper's figures: Okabe and Ito's colors, a dash, a marker and a hatch of its own for every line."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from legogcd.errors import UserError
from legogcd.files import replacing

DPI = 160
_SETTINGS = {
    "figure.dpi": DPI,
    "savefig.dpi": DPI,
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "hatch.linewidth": 0.7,
    "text.parse_math": False,  # a class may be called $1
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "legogcd",  # the same ids, so the same bytes, each time
}
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
MUTED = "#555555"
Dash = str | tuple[int, tuple[float, ...]]


class Look(NamedTuple):
    """How a line is told from the others in color, and how in grey."""

    color: str
    dash: Dash
    marker: str
    hatch: str


PARTS = {
    "all": Look(BLACK, "-", "o", ""),
    "old": Look(BLUE, "--", "s", ""),
    "new": Look(VERMILLION, "-.", "^", ""),
}
_METHODS = {
    "simgcd": Look(VERMILLION, "--", "s", "//"),
    "simgcd+dkl": Look(ORANGE, "-.", "^", "\\\\"),
    "simgcd+ler": Look(SKY, (0, (1, 1)), "D", ".."),
    "simgcd+ler+map": Look(GREEN, (0, (6, 1.5, 1, 1.5)), "v", "xx"),
    "legogcd": Look(BLUE, "-", "o", ""),
    "legogcd-released": Look(PURPLE, (0, (3, 1, 1, 1, 1, 1)), "P", "++"),
    "legogcd+": Look("#117733", (0, (10, 1.5)), "*", "\\\\\\"),
    "kmeans": Look(BLACK, (0, (4, 2)), "X", "--"),
    "sskmeans": Look("#332288", (0, (2, 3)), "p", "o."),
    "gcd": Look("#7F7F7F", "-", "<", "||"),
    "rankstats": Look("#882255", (0, (2, 1)), ">", "oo"),
    "uno": Look("#A6761D", (0, (8, 2)), "h", "**"),
    "orca": Look("#44AA99", (0, (1, 2)), "d", "OO"),
}


def looks(methods: Sequence[str]) -> list[Look]:
    """A look for each of some methods; a method's first line always has the same, a second one is told apart.

    >>> first, second = looks(["legogcd", "legogcd"])
    >>> first == looks(["simgcd", "legogcd"])[1], first == second
    (True, False)
    """
    spare = [look for method, look in reversed(_METHODS.items()) if method not in methods] or list(_METHODS.values())
    taken: set[str] = set()
    found = []
    for method in methods:
        own = None if method in taken else _METHODS.get(method)
        if own is None:
            spare.append(spare.pop(0))  # each spare look in turn
        found.append(own or spare[-1])
        taken.add(method)
    return found


@contextmanager
def styled() -> Iterator[None]:
    """Draw in this look whatever the user's own matplotlib settings are."""
    with matplotlib.style.context(["default", _SETTINGS]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the SVG keeps the name as text
        yield


def shorten(text: str, most: int) -> str:
    """The text on one line, cut where it is longer.

    >>> shorten("a name that\\nis long", 12)
    'a name that…'
    """
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def new_figure(
    title: str, subtitle: str, width: float, height: float, rows: int = 1, columns: int = 1, **panels: Any
) -> tuple[Figure, list[Any]]:
    """A figure with a bold title and a subtitle, wrapped to ``width``, above panels ``height`` inches high in all."""
    figure = titled_figure(title, subtitle, width, height)
    return figure, list(figure.subplots(rows, columns, squeeze=False, **panels).flat)


def titled_figure(title: str, subtitle: str, width: float, height: float) -> Figure:
    """As `new_figure`, its panels still to be laid out."""
    figure = Figure(figsize=(width, height))
    canvas = FigureCanvasAgg(figure)
    margin, gap = 0.12, 0.08
    texts = []
    for text, size, weight in ((title, 13, "bold"), (subtitle, 10.5, "normal")):
        written = figure.text(0, 0, text, fontsize=size, fontweight=weight, va="top", linespacing=1.25)
        written.set_in_layout(False)
        _wrap(written, canvas.get_renderer(), (width - 2 * margin) * DPI)
        texts.append(written)
    tops = [margin]
    for written in texts:
        tops.append(tops[-1] + written.get_window_extent(canvas.get_renderer()).height / DPI + gap)
    whole = height + tops[-1]
    figure.set_size_inches(width, whole)
    for written, top in zip(texts, tops, strict=False):
        written.set_position((margin / width, 1 - top / whole))
    below = (0, 0, 1, height / whole)
    figure.set_layout_engine(ConstrainedLayoutEngine(rect=below, w_pad=margin, h_pad=margin))
    return figure


def save_figure(figure: Figure, out: Path, stem: str) -> list[Path]:
    """Write the figure as PNG and as SVG; the same figure gives the same bytes."""
    written = []
    for ending in ("png", "svg"):
        path = out / f"{stem}.{ending}"
        try:
            with replacing(path) as temporary:
                figure.savefig(temporary, format=ending, metadata={"Date": None} if ending == "svg" else None)
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror or error}; give another --out") from None
        written.append(path)
    return written


def _wrap(written: Any, renderer: Any, width: float) -> None:
    words = written.get_text().split(" ")
    lines = [words[0]]
    for word in words[1:]:
        longer = f"{lines[-1]} {word}"
        written.set_text(longer)
        if written.get_window_extent(renderer).width > width:
            lines.append(word)
        else:
            lines[-1] = longer
    written.set_text("\n".join(lines))
