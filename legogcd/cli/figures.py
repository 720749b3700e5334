"""The ``figures`` verb of the command line. Heavy imports wait until the command needs them."""

from pathlib import Path
from typing import Annotated

import typer

AS_PRINTED = "paper"


def figures(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="[paper] RUN...",
            help="Run folders, of one data set or of several; `paper` before them lays sheets out as the paper does.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
) -> None:
    """Draw the paper's figures of one or more runs, as PNG and SVG.

    Accuracy by epoch, Old accuracy of several runs, selected known samples, components, t-SNE and confidence. Runs of
    one method that differ in their seed only become one line with their mean. What the runs do not allow is said.

    With `legogcd figures paper RUN...` SimGCD and LegoGCD stand side by side as in the paper, all data sets on one
    sheet, and its two illustrations are drawn too; a run folder called paper is given as ./paper.
    """
    from legogcd.run.arguments import check_run

    as_printed = str(runs[0]) == AS_PRINTED
    for run in runs[as_printed:]:
        check_run(run)
    from legogcd.paper.figures import draw_as_printed, draw_figures

    draw, folders = (draw_as_printed, runs[1:]) if as_printed else (draw_figures, runs)
    there = set(out.glob("*"))
    for path in draw(folders, out, note=lambda line: typer.echo(line, err=True)):
        typer.echo(f"{path}{' (replaced)' * (path in there)}")
