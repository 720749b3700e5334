"""A finished run on other images."""

from pathlib import Path
from typing import Annotated

import typer

from legogcd.cli import options as o
from legogcd.cli.volume import display as show
from legogcd.cli.volume import say
from legogcd.run.options import RunOptions


@o.spelled_out
def predict(
    run: o.Run,
    images: Annotated[
        Path, typer.Argument(metavar="IMAGES", help="Folder of images, a .zip or .tar of them, a URL, or one image.")
    ],
    out: Annotated[
        Path, typer.Option(help="The table to write: .csv, .jsonl, .parquet, or a folder .parts of Parquet files.")
    ],
    options: Annotated[RunOptions, o.Only("device", "threads", "engine", "ray_address")],
    unsure_below: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Confidence below which an image is unsure; default: found by the run."),
    ] = None,
    false_alarms: Annotated[
        float,
        typer.Option(min=0, max=0.5, help="Share of images of the run's categories that may be called strangers."),
    ] = 0.05,
    group_strangers: Annotated[
        bool, typer.Option("--group-strangers", help="Collect strangers that look alike: column stranger_group.")
    ] = False,
    backbone: o.MovedBackbone = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the table if it is there already.")] = False,
) -> None:
    """Sort other images with what a run has learned: category, known or novel, how sure, and whether to rely on it.

    For example, tomorrow's photos:

        legogcd predict run inbox --out inbox.csv

    The table has the columns path, category, status, confidence, unsure, stranger (true: it looks like none of the
    categories, whatever the confidence says) and strangeness (the share of the run's own images that fit better).
    Names and merges made since the run are in it. Any number of images takes the same memory. A prediction that was
    stopped goes on with the same command: what is sorted already lies beside the table, in OUT.unfinished.
    """
    from legogcd.run.arguments import check_images, check_run, check_table

    check_table(out, overwrite)
    check_images(images, single=True)
    check_run(run)
    from legogcd.collection import as_images
    from legogcd.run.engines import sorting_engine_for
    from legogcd.run.predict import predict_run
    from legogcd.wording import left_out

    display, engine = show(), sorting_engine_for(options)
    found = as_images(images, display.note)
    replaced = " (replaced)" if out.exists() else ""
    predicted = predict_run(
        run,
        found,
        out,
        unsure_below=unsure_below,
        false_alarms=false_alarms,
        group_strangers=group_strangers,
        backbone=backbone,
        device=options.device,
        threads=options.threads,
        display=display,
        engine=engine,
    )
    if predicted.unreadable:
        display.warn(left_out(predicted.unreadable))
    say(predicted.summary())
    typer.echo(f"table: {out}{replaced}")
