"""t-SNE of a few known (●) and novel (✚) classes: the same classes in the same colors for two methods."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from sklearn.manifold import TSNE

from legogcd.paper.figures import style
from legogcd.paper.figures.runs import DataSet, PlottedLine, Run, methods_of, safe_stem
from legogcd.paper.figures.style import MUTED, new_figure, save_figure, shorten
from legogcd.run.figure_sample import FigureSample

_KNOWN_COLORS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.BLACK)
_NOVEL_COLORS = (style.SKY, style.ORANGE, style.YELLOW, "#882255", "#8C8C8C")
_LONGEST_NAME = 12  # longer ones would hide the points: numbers stand for them, and the key names them
FEWEST_IMAGES = 6
Points = NDArray[np.float64]


def draw_tsne(
    dataset: DataSet, lines: Sequence[PlottedLine], samples: dict[Run, FigureSample], out: Path
) -> list[Path]:
    """``tsne``: one line alone, two side by side, or each of several beside the first; a line shows its first seed."""
    shown = [(line, line.runs[0]) for line in lines]
    points = {run: embed(samples[run].features) for _, run in shown}
    pairs = [shown] if len(shown) < 3 else [[shown[0], other] for other in shown[1:]]
    paths = []
    for pair in pairs:
        stem = f"tsne{dataset.suffix}" if len(pairs) == 1 else f"tsne{dataset.suffix}-{safe_stem(pair[1][0].label)}"
        paths += _draw_pair(dataset, pair, samples, points, out, stem)
    return paths


def embed(features: NDArray[np.float32]) -> Points:
    """Points [n, 2] by t-SNE, from a PCA start and a fixed seed."""
    perplexity = min(30.0, (len(features) - 1) / 3)
    embedding = TSNE(init="pca", perplexity=perplexity, random_state=0).fit_transform(features)
    return np.asarray(embedding, float)


def _draw_pair(
    dataset: DataSet,
    pair: Sequence[tuple[PlottedLine, Run]],
    samples: dict[Run, FigureSample],
    points: dict[Run, Points],
    out: Path,
    stem: str,
) -> list[Path]:
    told = methods_of([PlottedLine(line.label, line.method, line.look, (run,)) for line, run in pair])
    sample = samples[pair[0][1]]
    figure, panels = new_figure(
        f"{dataset.name}: t-SNE of {sample.n_known} known and {len(sample.names) - sample.n_known} novel classes",
        f"{told}; unlabelled images only",
        5.6 * len(pair),
        5.7 + (0.2 * max(sample.n_known, len(sample.names) - sample.n_known) if _numbered(sample) else 0),
        columns=len(pair),
    )
    names = [scatter(axes, one, samples, points) for axes, one in zip(panels, pair, strict=True)]
    key(figure, sample, most=36 if len(pair) == 1 else 60)
    move_apart(figure, names)
    return save_figure(figure, out, stem)


def scatter(
    axes: Any, shown: tuple[PlottedLine, Run], samples: dict[Run, FigureSample], points: dict[Run, Points]
) -> tuple[Any, list[Any]]:
    """One run's points on ``axes``, its classes named; returns the axes with the names, which may still overlap."""
    line, run = shown
    _scatter(axes, samples[run], points[run])
    axes.set_title(f"{line.label}, seed {run.seed}", fontsize=11, fontweight="bold")
    return axes, _names(axes, samples[run], points[run])


def _colors(sample: FigureSample) -> list[str]:
    novel = range(len(sample.names) - sample.n_known)
    return [
        *(_KNOWN_COLORS[number % len(_KNOWN_COLORS)] for number in range(sample.n_known)),
        *(_NOVEL_COLORS[number % len(_NOVEL_COLORS)] for number in novel),
    ]


def _scatter(axes: Any, sample: FigureSample, points: Points) -> None:
    for number, color in enumerate(_colors(sample)):
        of_class = points[sample.classes == number]
        known = number < sample.n_known
        axes.scatter(
            *of_class.T,
            s=26 if known else 34,
            marker="o" if known else "P",
            color=color,
            alpha=0.85,
            linewidth=0.4,
            edgecolor="white" if known else "black",
        )
    axes.set(xticks=[], yticks=[])
    axes.margins(0.07)
    axes.set_box_aspect(1)
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color("#BBBBBB")


def _numbered(sample: FigureSample) -> bool:
    return any(len(name) > _LONGEST_NAME for name in sample.names)


def key(figure: Figure, sample: FigureSample, most: int) -> None:
    """What ● and ✚ mean, and, where numbers stand for names, the names: known ones left, novel ones right."""
    kinds = [("known", "o", range(sample.n_known)), ("novel", "P", range(sample.n_known, len(sample.names)))]
    if not _numbered(sample):
        handles = [_handle(marker, MUTED, f"{kind} class") for kind, marker, _ in kinds]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, handletextpad=0.2)
        return
    colors = _colors(sample)
    columns = [
        [
            _handle("", MUTED, f"{kind} classes"),
            *(_handle(marker, colors[i], f"{i + 1}  {shorten(sample.names[i], most)}") for i in numbers),
        ]
        for kind, marker, numbers in kinds
    ]
    longest = max(map(len, columns))
    handles = [handle for column in columns for handle in column + [_handle("", MUTED, "")] * (longest - len(column))]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, handletextpad=0.2, fontsize=9.5)


def _handle(marker: str, color: str, label: str) -> Line2D:
    return Line2D(
        [],
        [],
        linestyle="",
        marker=marker,
        markersize=8,
        color=color,
        markeredgecolor="black",
        markeredgewidth=0.4,
        label=label,
    )


def _names(axes: Any, sample: FigureSample, points: Points) -> list[Any]:
    """Each class's name where most of it is."""
    return [
        axes.annotate(
            str(number + 1) if _numbered(sample) else shorten(name, _LONGEST_NAME),
            at := densest(points[sample.classes == number]),
            at,
            ha="center",
            va="center",
            fontsize=9.5,
            fontweight="bold" if number < sample.n_known else "normal",
            bbox={
                "boxstyle": "round,pad=0.2",
                "facecolor": "white",
                "alpha": 0.82,
                "edgecolor": MUTED,
                "linewidth": 0.5,
            },
            arrowprops={"arrowstyle": "-", "color": "black", "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0},
        )
        for number, name in enumerate(sample.names)
    ]


def densest(points: Points) -> Points:
    """The point [2] whose nearest half of the others is closest.

    >>> densest(np.array([[0.0, 0], [0, 1], [1, 0], [9, 9]]))
    array([0., 0.])
    """
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    return np.asarray(points[np.sort(distances, axis=1)[:, len(points) // 2].argmin()])


def move_apart(figure: Figure, names: Sequence[tuple[Any, Sequence[Any]]]) -> None:
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes, texts in names:
        frame = axes.get_window_extent()
        boxes = [text.get_bbox_patch().get_window_extent() for text in texts]
        centers = np.array([((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2) for box in boxes])
        sizes = np.array([(box.width, box.height) for box in boxes]) + 2
        moved = apart(centers, sizes, np.array([[frame.x0, frame.y0], [frame.x1, frame.y1]]))
        for text, place in zip(texts, moved, strict=True):
            text.set_position(axes.transData.inverted().transform(place))


def apart(centers: Points, sizes: Points, frame: Points) -> Points:
    """Boxes pushed apart until none overlaps and all are in the frame [2, 2], as far as that goes in 500 rounds."""
    places = centers.copy()
    for _ in range(500):
        places = np.clip(places, frame[0] + sizes / 2, frame[1] - sizes / 2)
        still = True
        for i in range(len(places)):
            for j in range(i):
                between = places[i] - places[j]
                overlap = (sizes[i] + sizes[j]) / 2 - np.abs(between)
                if (overlap > 0).all():
                    axis = int(overlap.argmin())
                    push = (overlap[axis] / 2 + 0.5) * (1 if between[axis] >= 0 else -1)
                    places[i, axis] += push
                    places[j, axis] -= push
                    still = False
        if still:
            break
    return np.asarray(places)
