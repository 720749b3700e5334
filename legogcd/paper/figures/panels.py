"""The paper's figures laid out as its pages have them: what belongs together on one sheet, SimGCD beside LegoGCD."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from legogcd.evaluation import forgetting
from legogcd.paper.figures.accuracy_figures import UNIT, old
from legogcd.paper.figures.curves import (
    End,
    accuracy_of,
    draw_line,
    known_part,
    label_ends,
    mean_curve,
    selected,
    set_epochs,
    within_percent,
)
from legogcd.paper.figures.distributions import CONFIDENCE, LOGIT, Quantity, Samples, histogram
from legogcd.paper.figures.runs import DataSet, PlottedLine, Run, listed, methods_of, seeds_of
from legogcd.paper.figures.selected_samples import UNIT as SELECTED_UNIT
from legogcd.paper.figures.selected_samples import maxima_of
from legogcd.paper.figures.style import PARTS, new_figure, save_figure, shorten, titled_figure
from legogcd.paper.figures.tsne import embed, key, move_apart, scatter

BASELINE = "simgcd"
OURS = ("legogcd", "legogcd-released", "legogcd+")
_COLUMNS = 4  # the paper's sheet of eight data sets: two rows of four


class Pair(NamedTuple):
    """What the paper holds against each other, on one data set."""

    dataset: DataSet
    baseline: PlottedLine
    ours: PlottedLine

    @property
    def lines(self) -> tuple[PlottedLine, PlottedLine]:
        return self.baseline, self.ours

    @property
    def runs(self) -> list[Run]:
        return [run for line in self.lines for run in line.runs]

    @property
    def shown(self) -> DataSet:
        """The data set with these two lines alone."""
        return DataSet(self.dataset.name, self.dataset.suffix, self.lines)


def pair_of(dataset: DataSet, runs: Sequence[Run]) -> Pair | None:
    """SimGCD and the first kind of LegoGCD that ``runs`` of a data set have; None where one of the two is missing."""
    lines = dataset.lines_of(runs)
    ours = [line for method in OURS for line in lines if line.method == method]
    baseline = [line for line in lines if line.method == BASELINE]
    return Pair(dataset, baseline[0], ours[0]) if baseline and ours else None


def draw_side_by_side(pair: Pair, out: Path) -> list[Path]:
    """``paper-accuracy`` (Fig. 1): All, Old and New by epoch, SimGCD left, LegoGCD right, on one scale."""
    gain = mean_curve(pair.ours.runs, old)[1][-1] - mean_curve(pair.baseline.runs, old)[1][-1]
    figure, panels = new_figure(
        f"{pair.dataset.name}: accuracy by epoch",
        f"{methods_of(pair.lines)}; Old at the last epoch {gain:+.1f}",
        11,
        4,
        columns=2,
        sharey=True,
    )
    ends = []
    for axes, line in zip(panels, pair.lines, strict=True):
        ends.append((axes, _parts(axes, line)))
        axes.set_title(f"{line.label}: forgets {_forgotten(line):.1f} of Old", loc="left", fontsize=11)
        set_epochs(axes, pair.runs)
    within_percent(panels[0])
    panels[0].set_ylabel(UNIT)
    label_ends(figure, ends)
    return save_figure(figure, out, f"paper-accuracy{pair.dataset.suffix}")


def _parts(axes: Any, line: PlottedLine) -> list[End]:
    ends = []
    for number, (part, look) in enumerate(PARTS.items()):
        values = accuracy_of(part)
        if all(len(known_part(run, values)[0]) for run in line.runs):
            at = draw_line(axes, PlottedLine(part, line.method, look, line.runs), values, number)
            ends.append(End(*at, f"{part.capitalize()} {at[1]:.1f}", look))
    return ends


def _forgotten(line: PlottedLine) -> float:
    return float(np.mean([forgetting(known_part(run, old)[1]) for run in line.runs]))


def draw_old_sheet(datasets: Sequence[DataSet], out: Path) -> list[Path]:
    """``paper-old``: Old by epoch on every data set, one panel each with all of its lines, as one sheet."""
    columns = min(len(datasets), _COLUMNS)
    rows = -(-len(datasets) // columns)
    names = listed(list(dict.fromkeys(line.label for dataset in datasets for line in dataset.lines)))
    seeds = seeds_of(run for dataset in datasets for run in dataset.runs)
    figure, panels = new_figure(
        f"Old accuracy by epoch on {len(datasets)} data set{'s' if len(datasets) > 1 else ''}",
        f"{names}, {seeds}; above a panel: Old at the last epoch",
        max(3.2 * columns, 5),
        2.5 * rows + 0.5,
        rows=rows,
        columns=columns,
    )
    for axes, dataset in zip(panels, datasets, strict=False):
        last = [f"{draw_line(axes, line, old, number)[1]:.1f}" for number, line in enumerate(dataset.lines)]
        told = " → ".join(filter(None, (last[0], ", ".join(last[1:]))))
        axes.set_title(shorten(dataset.name, 30 - len(told)), loc="left", fontsize=10.5, fontweight="bold")
        axes.set_title(told, loc="right", fontsize=10)
        set_epochs(axes, dataset.runs)
        within_percent(axes)
    for axes in panels[len(datasets) :]:
        axes.set_visible(False)
    figure.supylabel("Old accuracy, %", fontsize=10.5)
    _legend(figure, datasets)
    return save_figure(figure, out, "paper-old")


def draw_selected_sheet(pairs: Sequence[Pair], out: Path) -> list[Path]:
    """``paper-selected`` (Fig. 3): selected samples by epoch on the first data set, and the most on every one."""
    first = pairs[0]
    figure, (curves, bars) = new_figure(
        "High-confidence known samples of a batch",
        f"left: {first.dataset.name}, {methods_of(first.lines)}, mean of an epoch's batches; right: the best epoch",
        11,
        4.2,
        columns=2,
        width_ratios=[1, max(1, 0.3 * len(pairs))],
    )
    for number, line in enumerate(first.lines):
        draw_line(curves, line, selected, number)
    set_epochs(curves, first.runs)
    curves.set_ylabel(SELECTED_UNIT)
    curves.set_ylim(bottom=0)
    for place, pair in enumerate(pairs):
        for line, shift in zip(pair.lines, (-0.2, 0.2), strict=True):
            most = float(np.mean(maxima_of(line)))
            look = line.look
            bars.bar(place + shift, most, 0.36, color=look.color, edgecolor="white", hatch=look.hatch)
            bars.annotate(f"{most:.1f}", (place + shift, most), (0, 3), textcoords="offset points", ha="center")
    names = [shorten(pair.dataset.name, 16) for pair in pairs]
    slanted: dict[str, Any] = {"rotation": 25, "ha": "right"} if len(pairs) > 3 else {}
    bars.set_xticks(range(len(pairs)), names, **slanted)
    bars.grid(axis="x", visible=False)
    bars.margins(y=0.12)
    bars.set_ylabel(f"most {SELECTED_UNIT}")
    _legend(figure, [first.shown])
    return save_figure(figure, out, "paper-selected")


def draw_tsne_sheet(pair: Pair, samples: Samples, out: Path) -> list[Path]:
    """``paper-tsne``: t-SNE of both, and beside them how sure both are of the known samples."""
    shown = [(line, line.runs[0]) for line in pair.lines]
    quantities = [each for each in (CONFIDENCE, LOGIT) if all(each.there(samples[run]) for run in pair.runs)]
    sample = samples[shown[0][1]]
    figure = titled_figure(
        f"{pair.dataset.name}: what is learned of {sample.n_known} known and "
        f"{len(sample.names) - sample.n_known} novel classes, and how sure",
        f"{methods_of(pair.lines)}; unlabelled images; the distributions are of all images of known classes",
        15,
        5.8,
    )
    beside = [each.stem for each in quantities] or ["none"]
    layout = [["left", "right", stem] for stem in beside]
    panels = figure.subplot_mosaic(layout, width_ratios=[1, 1, 0.8], empty_sentinel="none")
    points = {run: embed(samples[run].features) for _, run in shown}
    names = [scatter(panels[side], one, samples, points) for side, one in zip(("left", "right"), shown, strict=True)]
    for quantity in quantities:
        _distributions(panels[quantity.stem], quantity, pair, samples)
    key(figure, sample, most=60)
    move_apart(figure, names)
    return save_figure(figure, out, f"paper-tsne{pair.dataset.suffix}")


def _distributions(axes: Any, quantity: Quantity, pair: Pair, samples: Samples) -> None:
    """Both methods' distributions over each other, their medians told."""
    pooled = [quantity.pooled(line, samples) for line in pair.lines]
    edges = quantity.edges(pooled)
    for values, line in zip(pooled, pair.lines, strict=True):
        histogram(axes, values, edges, line)
        axes.plot([], [], color=line.look.color, label=f"{line.label}, median {np.median(values):.2f}", linewidth=5)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel(quantity.axis)
    axes.set_ylabel("share of images, %")
    axes.margins(y=0.3)  # room for the legend above the bars
    axes.legend(loc="upper left", frameon=False, fontsize=9.5)


def _legend(figure: Any, datasets: Sequence[DataSet]) -> None:
    """One key for all panels: a line's look, whichever data set it is on."""
    looks = {line.label: line.look for dataset in datasets for line in dataset.lines}
    handles = [
        figure.axes[0].plot([], [], color=look.color, linestyle=look.dash, marker=look.marker, label=label)[0]
        for label, look in looks.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
