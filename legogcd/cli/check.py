"""Whether what is on disk is still what was written."""

from pathlib import Path
from typing import Annotated

import typer

from legogcd.cli.volume import display as show


def check(
    folder: Annotated[Path, typer.Argument(metavar="RUN|CACHE", help="A finished run, or a folder of kept views.")],
) -> None:
    """Compare every file of a run, or every kept view of a cache, with its checksum.

    Exit code 0: all is as it was written. What is damaged is named; a run is mended by its own command with --resume,
    kept views by the next command that uses them.
    """
    from legogcd.run.checking import check_folder

    checked, damaged = check_folder(folder, show())
    for line in damaged:
        typer.echo(f"damaged: {line}")
    typer.echo(f"{checked}: {f'{len(damaged)} damaged' if damaged else 'all is as it was written'}")
    if damaged:
        raise typer.Exit(2)
