"""Curves as components are added one by one: a panel each for All, Old and New."""

from pathlib import Path

from legogcd.paper.figures.accuracy_figures import UNIT
from legogcd.paper.figures.curves import End, accuracy_of, draw_line, known_part, label_ends, set_epochs, within_percent
from legogcd.paper.figures.runs import DataSet, PlottedLine, methods_of
from legogcd.paper.figures.style import PARTS, new_figure, save_figure

COMPONENTS = ("simgcd", "simgcd+dkl", "simgcd+ler", "simgcd+ler+map", "legogcd")


def component_lines(dataset: DataSet) -> list[PlottedLine]:
    """The scored lines of SimGCD, of LegoGCD and of what lies between."""
    return dataset.lines_of(run for run in dataset.runs if run.method in COMPONENTS and run.scored)


def draw_components(dataset: DataSet, out: Path) -> list[Path]:
    """``components``: All, Old and New by epoch, a line for each set of components."""
    lines = component_lines(dataset)
    several = any(len(line.runs) > 1 for line in lines)
    figure, panels = new_figure(
        f"{dataset.name}: accuracy as components are added",
        f"{methods_of(lines)}{'; thin lines: seeds, thick: their mean' if several else ''}",
        8,
        3 * max(2.4, 0.2 * len(lines) + 0.7),
        rows=3,
        sharex=True,
    )
    ends = []
    for axes, part in zip(panels, PARTS, strict=True):
        values = accuracy_of(part)
        drawn = [line for line in lines if all(len(known_part(run, values)[0]) for run in line.runs)]
        last = [draw_line(axes, line, values, number) for number, line in enumerate(drawn)]
        ends.append(
            (axes, [End(*at, f"{line.label} {at[1]:.1f}", line.look) for at, line in zip(last, drawn, strict=True)])
        )
        axes.set_title(part.capitalize(), loc="left", fontsize=11, fontweight="bold")
        within_percent(axes)
    for axes in panels:
        set_epochs(axes, [run for line in lines for run in line.runs])
        axes.label_outer()
    figure.supylabel(UNIT, fontsize=10.5)
    label_ends(figure, ends)
    return save_figure(figure, out, f"components{dataset.suffix}")
