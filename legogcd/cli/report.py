"""The report of a finished run."""

from pathlib import Path
from typing import Annotated

import typer

from legogcd.cli import options as o


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    out: Annotated[Path | None, typer.Option(help="The HTML file to write; default: report.html in RUN.")] = None,
    images: Annotated[Path | None, typer.Option(help="Where the images are now, if they moved since the run.")] = None,
    backbone: Annotated[
        str | None, typer.Option(help="Where the backbone's weights are now, if they moved since the run.")
    ] = None,
    device: o.OnDevice = o.Device.auto,
    cache: o.Cache = None,
) -> None:
    """Write a page about a run: what to check first, every group, a map of all images, curves and settings.

    It is one HTML file that opens from disk and asks nothing of a network. Names, merges and splits made since the
    run are in it.
    """
    from legogcd.display import Screen
    from legogcd.report.page import report_run

    written = report_run(run, out, images=images, backbone=backbone, device=device.value, cache=cache, display=Screen())
    typer.echo(f"report: {written}")
