"""How many classes are there?"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from legogcd.cli import options as o

if TYPE_CHECKING:
    from legogcd.clustering.how_many.choice import Estimate
    from legogcd.display import Quiet
    from legogcd.run import Job

PICTURE = "classes.png"


def estimate_classes(
    images: o.Images,
    labels: o.Labels,
    out: Annotated[Path, typer.Option(help="Picture of the curve to write, a PNG file.")] = Path(PICTURE),
    approach: Annotated[
        str | None,
        typer.Option(help="How it is estimated; a wrong name lists them. Default: the one that erred least."),
    ] = None,
    most: Annotated[int | None, typer.Option(min=2, help="The most classes thought possible.")] = None,
    known: o.Known = None,
    labelled_share: o.LabelledShare = 0.5,
    backbone: o.Backbone = "efficientnet-lite0",
    image_size: o.ImageSize = 224,
    cache: o.Cache = None,
    disk_budget: o.Budget = None,
    views: o.Views = "4",
    seed: Annotated[int, typer.Option(help="Same seed, same estimate.")] = 0,
    device: o.OnDevice = o.Device.auto,
    precision: o.InPrecision = o.Precision.auto,
    threads: o.Threads = None,
) -> None:
    """Estimate how many categories a collection has, known and new, before anything is trained.

    legogcd estimate-classes photos --labels labels.csv

    Prints a curve with the estimate and an interval and saves the picture. `--classes auto` of `discover` does the
    same first. The views that are kept on the way are those `discover` uses.
    """
    from legogcd.display import Screen
    from legogcd.run import Job

    display = Screen()
    collection, _ = o.open_collection(images, labels, known, labelled_share, None, display.note)
    keeping = o.keeping_rules(views, cache, disk_budget, o.KeptDtype.bf16)
    job = Job(
        collection,
        n_classes=0,
        backbone=backbone,
        image_size=image_size,
        keeping=keeping,
        seed=seed,
        device=device,
        precision=precision,
        threads=threads,
        name=images.resolve().name,
    )
    found = _estimate(job, approach, most, display)
    _draw(found, job, out)
    for line in curve_lines(found):
        typer.echo(line)
    typer.echo(f"{said(found)}; picture: {out}")


def estimated(job: "Job", out: Path, display: "Quiet") -> "Job":
    """The job with its number of classes estimated; the curve's picture goes into the folder ``out``."""
    found = _estimate(job, None, None, display)
    out.mkdir(parents=True, exist_ok=True)
    _draw(found, job, out / PICTURE)
    typer.echo(said(found))
    return replace(job, n_classes=found.classes)


def said(found: "Estimate") -> str:
    """The estimate in a few words."""
    return f"about {found.classes} classes ({found.low} to {found.high}), by {found.approach}"


def curve_lines(found: "Estimate", width: int = 50) -> list[str]:
    """The curve in text, a bar a candidate, the estimate marked."""
    low = min(score for _, score in found.curve)
    high = max(score for _, score in found.curve)
    lines = [f"{'classes':>7}  {found.score_name}"]
    for k, score in found.curve:
        bar = "█" * (1 + round((width - 1) * (score - low) / (high - low))) if high > low else "█"
        mark = " ← estimate" if k == found.classes else ""
        lines.append(f"{k:>7}  {score:8.4f} {bar}{mark}")
    return lines


def _estimate(job: "Job", approach: str | None, most: int | None, display: "Quiet") -> "Estimate":
    from legogcd.clustering.how_many.choice import estimate_classes
    from legogcd.run import prepare
    from legogcd.training.draw import clustering_images

    prepared = prepare(job, display)
    display.note("estimating the number of classes")
    chosen = clustering_images(prepared.collection.labels, job.seed)
    given: dict[str, Any] = {} if approach is None else {"approach": approach}
    return estimate_classes(
        prepared.directions(chosen),
        prepared.collection.labels[chosen],
        most=most,
        seed=job.seed,
        **given,
    )


def _draw(found: "Estimate", job: "Job", path: Path) -> None:
    from legogcd.report import draw_class_count

    draw_class_count(found, path, f"{job.name}: how many classes?")
