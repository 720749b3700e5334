"""What a run will cost, before it is started."""

from typing import Annotated

import typer

from legogcd.cli import options as o
from legogcd.cli.volume import display as show
from legogcd.run.options import LabelOptions, RunOptions


@o.spelled_out
def plan(
    images: o.Images,
    labels: Annotated[LabelOptions, o.Only("labels", "known", "labelled_share")],
    options: RunOptions,
) -> None:
    """Say what `discover` with the same options will cost here: time, disk, memory; from some seconds of measurement.

    legogcd plan photos --classes 12

    Below stands what each --effort would cost instead. Labels are not needed; without --classes up to 100 of them are
    assumed. Nothing is left behind.
    """
    from legogcd.run.arguments import check_images, check_labels, check_options

    check_options(options)
    check_images(images)
    if labels.labels is not None:
        check_labels(labels, options.changed(n_classes=options.n_classes or "auto"))
    from legogcd.run.backbone_choice import with_chosen_backbone
    from legogcd.run.opening import open_job
    from legogcd.run.plan import assumed_job, effort_lines, plans

    display = show()
    if labels.labels is not None:
        job, _ = open_job(images, labels, options, display.note)
    else:
        job = assumed_job(images, with_chosen_backbone(options, display.note))
    found = plans(job, display)
    for line in [*found[job.options.effort].lines(), *effort_lines(found)]:
        typer.echo(line)
