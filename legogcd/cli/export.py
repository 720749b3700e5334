"""A finished run in the format of another tool."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from legogcd.export import FORMATS
from legogcd.wording import printable

if TYPE_CHECKING:
    To: TypeAlias = StrEnum
else:
    To = StrEnum("To", {name.replace("-", "_"): name for name in FORMATS})

_FORMATS_HELP = "The format: " + "; ".join(f"{name}, {chosen.description}" for name, chosen in FORMATS.items()) + "."
_SINGLE_FILES = " and ".join(name for name, chosen in FORMATS.items() if chosen.single_file)


class LinkAs(StrEnum):
    symlink = "symlink"
    hard = "hard"
    copy = "copy"


class Status(StrEnum):
    labelled = "labelled"
    known = "known"
    novel = "novel"
    rejected = "rejected"


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    to: Annotated[To, typer.Option(help=_FORMATS_HELP)],
    out: Annotated[Path, typer.Option(help=f"New or empty folder; with {_SINGLE_FILES} also a file, like sorted.csv.")],
    images: Annotated[
        Path | None, typer.Option(help="Where the images are, if they moved since the run or it was made elsewhere.")
    ] = None,
    only: Annotated[
        list[Status] | None, typer.Option(help="Leave out images of any other status; may be repeated.")
    ] = None,
    min_confidence: Annotated[
        float, typer.Option(help="Leave out images without a label that the model is less sure of.")
    ] = 0.0,
    link: Annotated[
        LinkAs, typer.Option(help="How images get into folders; where links are not possible they are copied.")
    ] = LinkAs.symlink,
    url_prefix: Annotated[
        str | None,
        typer.Option(help="With label-studio: what comes before an image's path, like https://host/photos/."),
    ] = None,
    val_share: Annotated[float, typer.Option(help="With yolo-cls: share of each category to validate with.")] = 0.2,
    seed: Annotated[int, typer.Option(help="With yolo-cls: seed of the draw into train and val.")] = 0,
) -> None:
    """Write a finished run in the format of another tool; images are linked, copied or named, never moved.

    For example, one folder per category, without what the model is unsure of:

        legogcd export run --to folders --min-confidence 0.5 --out sorted
    """
    from rich.console import Console
    from rich.progress import Progress

    from legogcd.export import Include, export_run
    from legogcd.export.items import STATUSES

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as shown:
        task = shown.add_task("writing", total=None)
        exported = export_run(
            run,
            to.value,
            out,
            images=images,
            link=link.value,
            include=Include([status.value for status in only] if only else STATUSES, min_confidence),
            url_prefix=url_prefix,
            val_share=val_share,
            seed=seed,
            progress=lambda done, total: shown.update(task, completed=done, total=total),
        )
    for line in exported.lines():
        typer.echo(printable(line))
