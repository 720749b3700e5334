"""How many classes are there?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from legogcd import launched
from legogcd.cli import options as o
from legogcd.cli.asking import may_download
from legogcd.cli.volume import display as show
from legogcd.cli.volume import say
from legogcd.run.options import LabelOptions, RunOptions

if TYPE_CHECKING:
    from legogcd.clustering.how_many.choice import Estimate
    from legogcd.display import Quiet
    from legogcd.run import Job
    from legogcd.run.job import Prepared


@o.spelled_out
def estimate_classes(
    images: o.Images,
    labels: Annotated[LabelOptions, o.Only("labels", "known", "labelled_share")],
    options: Annotated[RunOptions, o.Only("effort", "backbone", "views", "seed", "machine")],
    out: Annotated[Path, typer.Option(help="Picture of the curve to write, a PNG file.")] = Path("classes.png"),
    approach: Annotated[
        str | None,
        typer.Option(help="How it is estimated; a wrong name lists them. Default: the one that erred least."),
    ] = None,
    most: Annotated[int | None, typer.Option(min=2, help="The most classes thought possible.")] = None,
) -> None:
    """Estimate how many categories a collection has, known and new, before anything is trained.

    legogcd estimate-classes photos --labels labels.csv

    Prints a curve with the estimate and an interval and saves the picture. `--classes auto` of `discover` does the
    same first. The views that are kept on the way are those `discover` uses.
    """
    from legogcd.approaches import check_approach
    from legogcd.run.arguments import check_images, check_labels, check_network

    if approach is not None:
        check_approach(approach)
    check_network(options)
    check_images(images)
    check_labels(labels, options.changed(n_classes="auto"))
    from legogcd.run.class_count import estimate_job_classes
    from legogcd.run.opening import open_job

    display = show()
    replaced = " (replaced)" if out.exists() else ""
    job, _ = open_job(images, labels, options.changed(n_classes="auto"), display.note, ask=may_download)
    found = estimate_job_classes(job, display, approach, most)
    _draw(found, job, out)
    for line in curve_lines(found):
        typer.echo(line)
    say(f"{said(found)}, by {found.approach}; picture: {out}{replaced}")


def with_estimated_classes(job: "Job", out: Path, display: "Quiet") -> "tuple[Job, Prepared | None]":
    """The job with its number of classes estimated where that is asked for; the curve's picture goes to ``out``.

    What was prepared for the estimate is there for the run.
    """
    from legogcd.run.class_count import with_estimated_classes as estimated
    from legogcd.run.folder import CLASS_COUNT

    job, prepared, found = estimated(job, display)
    if found is not None and launched.rank() == 0:
        out.mkdir(parents=True, exist_ok=True)
        _draw(found, job, out / CLASS_COUNT)
        say(said(found))
    return job, prepared


def said(found: "Estimate") -> str:
    """The estimate in a few words."""
    return f"about {found.classes} categories, known and new (anything from {found.low} to {found.high} fits)"


def curve_lines(found: "Estimate", width: int = 50) -> list[str]:
    """The curve in text, one bar per candidate, the estimate marked."""
    low = min(score for _, score in found.curve)
    high = max(score for _, score in found.curve)
    lines = [f"{'classes':>7}  {found.score_name}"]
    for k, score in found.curve:
        bar = "█" * (1 + round((width - 1) * (score - low) / (high - low))) if high > low else "█"
        mark = " ← estimate" if k == found.classes else ""
        lines.append(f"{k:>7}  {score:8.4f} {bar}{mark}")
    return lines


def _draw(found: "Estimate", job: "Job", path: Path) -> None:
    from legogcd.report import draw_class_count

    draw_class_count(found, path, f"{job.name}: how many classes?")
