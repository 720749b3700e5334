"""Several methods on one collection."""

from pathlib import Path
from typing import Annotated

import typer

from legogcd.cli import options as o
from legogcd.cli.classes import estimated
from legogcd.errors import UserError

ALL_METHODS = "kmeans,sskmeans,gcd,rankstats,uno,orca,simgcd,legogcd,legogcd+"


def compare(
    images: o.Images,
    labels: o.Labels,
    out: Annotated[Path, typer.Option(help="Folder for table.md, comparison.png, results.csv and the runs.")],
    methods: Annotated[str, typer.Option(help="Names from `legogcd methods`, with commas between.")] = ALL_METHODS,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0 up.")] = 3,
    classes: o.Classes = None,
    known: o.Known = None,
    labelled_share: o.LabelledShare = 0.5,
    truth: o.TruthFile = None,
    recipe: o.RecipeName = "default",
    epochs: o.Epochs = None,
    set_: o.Settings = None,
    backbone: o.Backbone = "efficientnet-lite0",
    image_size: o.ImageSize = 224,
    train_blocks: o.TrainBlocks = 1,
    views: o.Views = "4",
    cache: o.Cache = None,
    disk_budget: o.Budget = None,
    kept_dtype: o.KeptAs = o.KeptDtype.bf16,
    device: o.OnDevice = o.Device.auto,
    precision: o.InPrecision = o.Precision.auto,
    threads: o.Threads = None,
) -> None:
    """Try several methods on one collection whose truth is known: one cache, one table, one picture.

    legogcd compare birds --labels folders --known owl,hawk,finch --out compared

    Interrupted, the same command goes on; runs that --out has are not repeated.
    """
    from legogcd.display import Screen
    from legogcd.run import Job
    from legogcd.run.compare import PICTURE, RESULTS, Comparison, run_comparison, table

    display = Screen()
    collection, known_truth = o.open_collection(images, labels, known, labelled_share, truth, display.note)
    n_classes = o.count_classes(classes, collection, known_truth, labels)
    if known_truth is None:
        raise UserError("--truth is needed: methods are compared by the right categories of unlabelled images")
    names = o.read_names(methods)
    if not names:
        raise UserError("--methods names no method; see `legogcd methods`")
    job = Job(
        collection=collection,
        n_classes=n_classes or 0,
        backbone=backbone,
        image_size=image_size,
        train_blocks=train_blocks,
        keeping=o.keeping_rules(views, cache, disk_budget, kept_dtype),
        device=device,
        precision=precision,
        threads=threads,
        name=images.resolve().name,
    )
    if n_classes is None:
        job = estimated(job, out, display)
    settings = o.read_settings(set_ or [], epochs=epochs)
    comparison = Comparison(job, known_truth, names, range(seeds), recipe, settings)
    results = run_comparison(comparison, out, display)
    typer.echo(f"{job.name}: {comparison.setup}\n")
    typer.echo(table(results))
    typer.echo(f"picture: {out / PICTURE}; single runs: {out / RESULTS}")
