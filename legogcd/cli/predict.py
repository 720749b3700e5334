"""A finished run on other images."""

from pathlib import Path
from typing import Annotated

import typer

from legogcd.cli import options as o
from legogcd.run.options import RunOptions


@o.spelled_out
def predict(
    run: o.Run,
    images: Annotated[Path, typer.Argument(metavar="IMAGES", help="Folder of images, searched recursively, or one.")],
    out: Annotated[Path, typer.Option(help="The table to write: .csv, .jsonl or .parquet.")],
    options: Annotated[RunOptions, o.Only("device", "threads")],
    unsure_below: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Confidence below which an image is unsure; default: found by the run."),
    ] = None,
    backbone: o.MovedBackbone = None,
) -> None:
    """Sort other images with what a run has learned: category, known or novel, how sure, and whether to rely on it.

    For example, tomorrow's photos:

        legogcd predict run inbox --out inbox.csv

    The table has the columns path, category, status, confidence and unsure. Names and merges made since the run are
    in it. Any number of images takes the same memory.
    """
    from legogcd.run.prediction_tables import check_format

    check_format(out)
    from legogcd.collection import as_images
    from legogcd.display import Screen
    from legogcd.run.predict import predict_run
    from legogcd.wording import left_out

    display = Screen()
    found = as_images([images] if images.is_file() else images)
    predicted = predict_run(
        run,
        found,
        out,
        unsure_below=unsure_below,
        backbone=backbone,
        device=options.device,
        threads=options.threads,
        display=display,
    )
    if predicted.unreadable:
        display.warn(left_out(predicted.unreadable))
    typer.echo(predicted.summary())
    typer.echo(f"table: {out}")
