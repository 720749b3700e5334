"""The report of a finished run."""

from pathlib import Path
from typing import Annotated

import typer

from legogcd.cli import options as o
from legogcd.cli.volume import display as show
from legogcd.run.options import RunOptions


@o.spelled_out
def report(
    run: o.Run,
    options: Annotated[RunOptions, o.Only("device", "cache")],
    out: Annotated[Path | None, typer.Option(help="The HTML file to write; default: report.html in RUN.")] = None,
    images: o.MovedImages = None,
    backbone: o.MovedBackbone = None,
) -> None:
    """Write a page about a run: what to check first, every group, a map of all images, curves and settings.

    It is one HTML file that opens from disk and asks nothing of a network. Names, merges and splits made since the
    run are in it.
    """
    from legogcd.run.arguments import check_run

    check_run(run)
    from legogcd.report.page import report_run

    there = (out or run / "report.html").exists()

    written = report_run(
        run, out, images=images, backbone=backbone, device=options.device, cache=options.cache, display=show()
    )
    typer.echo(f"report: {written}{' (replaced)' * there}")
