"""Take over what other tools decided."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from legogcd.cli.options import Run


def import_(
    run: Run,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV with path,label; Label Studio's JSON; FiftyOne's labels.json.")
    ],
) -> None:
    """Take over what another tool decided about the images: legogcd import run labels.csv. One undo takes it back.

    Images that are where the file says are confirmed there, the others are moved there.
    """
    from legogcd.imports import import_file

    for line in import_file(run, file).lines():
        typer.echo(line)
    typer.echo(f"undo with: legogcd undo {shlex.quote(str(run))}")
