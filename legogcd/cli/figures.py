"""The ``figures`` verb of the command line. Heavy imports wait until the command needs them."""

from pathlib import Path
from typing import Annotated

import typer


def figures(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders, of one data set or of several.")],
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("figures"),
) -> None:
    """Draw the paper's figures of one or more runs, as PNG and SVG.

    Accuracy by epoch, Old accuracy of several runs, selected known samples, components, t-SNE and confidence. Runs of
    one method that differ in their seed only become one line with their mean. What the runs do not allow is said.
    """
    from legogcd.paper.figures import draw_figures

    for path in draw_figures(runs, out, note=lambda line: typer.echo(line, err=True)):
        typer.echo(path)
