"""Several methods on one collection."""

import time
from pathlib import Path
from typing import Annotated

import typer

from legogcd.cli import options as o
from legogcd.cli.asking import may_download
from legogcd.cli.classes import with_estimated_classes
from legogcd.cli.volume import display as show
from legogcd.cli.volume import say
from legogcd.errors import UserError
from legogcd.run.options import LabelOptions, RunOptions

ALL_METHODS = "kmeans,sskmeans,gcd,rankstats,uno,orca,simgcd,legogcd,legogcd+"
USUAL_METHODS = "kmeans,legogcd,legogcd+"
_SHARED = o.Only("classes", "recipe", "effort", "epochs", "settings", "backbone", "views", "machine")


@o.spelled_out
def compare(
    images: o.Images,
    out: Annotated[Path, typer.Option(help="Folder for table.md, comparison.png, results.csv and the runs.")],
    labels: LabelOptions,
    options: Annotated[RunOptions, _SHARED],
    methods: Annotated[
        str, typer.Option(help=f"Names from `legogcd methods`, with commas between; `all`: {ALL_METHODS}.")
    ] = USUAL_METHODS,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0 up; three show the spread.")] = 1,
) -> None:
    """Try several methods on one collection whose truth is known: one cache, one table, one picture.

    legogcd compare birds --labels folders --known owl,hawk,finch --out compared

    By default three methods and one seed; `--methods all --seeds 3` is the whole comparison, 27 runs. Interrupted, the
    same command goes on; runs that --out has are not repeated. No label is held out.
    """
    from legogcd.methods import split_methods
    from legogcd.run.arguments import check_images, check_labels, check_methods, check_network, check_truth

    names = split_methods(ALL_METHODS if methods == "all" else methods)
    if not names:
        raise UserError("--methods names no method; see `legogcd methods`")
    check_methods(names, options)
    check_network(options)
    check_images(images)
    check_labels(labels, options)
    check_truth(labels)
    from legogcd.report import draw_comparison
    from legogcd.run.compare import PICTURE, RESULTS, TABLE, Comparison, run_comparison, screen_table
    from legogcd.run.opening import open_job
    from legogcd.wording import counted, human_seconds

    display = show()
    began = time.monotonic()
    job, truth = open_job(images, labels, options.changed(held_out=0), display.note, ask=may_download)
    assert truth is not None
    job, prepared = with_estimated_classes(job, out, display)
    comparison = Comparison(job, truth, names, range(seeds))
    results = run_comparison(comparison, out, display, prepared=prepared is not None)
    draw_comparison(results, out / PICTURE, f"{job.name}: {comparison.setup}")
    say(f"{job.name}: {comparison.setup}")
    typer.echo(f"\n{screen_table(results)}")
    say(f"table: {out / TABLE}; picture: {out / PICTURE}; single runs: {out / RESULTS}")
    display.note(f"{counted(len(results), 'run')} in {human_seconds(time.monotonic() - began)}")
