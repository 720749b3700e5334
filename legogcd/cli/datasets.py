"""The ``datasets`` verbs of the command line. Heavy imports wait until a command needs them."""

from pathlib import Path
from typing import Annotated

import typer

from legogcd.errors import UserError

ROOT_VARIABLE = "LEGOGCD_DATA"

datasets = typer.Typer(
    help="The paper's data sets: what they are, what you have, how the paper splits them.",
    invoke_without_command=True,
    no_args_is_help=False,
    rich_markup_mode=None,
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A name from `legogcd datasets`.")]
RootOption = Annotated[
    Path, typer.Option(envvar=ROOT_VARIABLE, help="The data set's folder, or one that holds several data sets.")
]


@datasets.callback()
def list_datasets(
    context: typer.Context,
    root: Annotated[
        Path | None, typer.Option(envvar=ROOT_VARIABLE, help="Where to look for them; default: nowhere.")
    ] = None,
) -> None:
    """List the paper's data sets: classes, images, size, terms, where to get them, and what is under --root."""
    if context.invoked_subcommand is not None:
        return
    from legogcd.paper.datasets import DATASETS

    typer.echo(f"{'name':<14} {'title':<14} {'classes':>7} {'images':>9}  {'size':<20} found")
    for dataset in DATASETS.values():
        images = f"{'' if dataset.exact else '≈'}{dataset.train_images + dataset.test_images:,}"
        place = dataset.find(root) if root is not None else None
        found = str(place) if place is not None else "–" if root is None else "no"
        typer.echo(
            f"{dataset.name:<14} {dataset.title:<14} {dataset.n_classes:>7} {images:>9}  {dataset.size:<20} {found}"
        )
        typer.echo(f"{'':14} terms: {dataset.license}")
        direct = f"`legogcd datasets download {dataset.name}`, or " if dataset.archive is not None else ""
        typer.echo(f"{'':14} get it: {direct}{dataset.source}")
    if root is None:
        typer.echo(f"Give --root DIR, or set {ROOT_VARIABLE}, to see which of them you have.")


@datasets.command()
def check(
    name: NameArgument,
    root: RootOption,
    limit: Annotated[int, typer.Option(min=1, help="Most lines about what is wrong.")] = 20,
) -> None:
    """Say exactly what is missing or wrong in a copy.

    The counts are compared with the official and the published ones. Annotations are read and every image is looked
    up, but images are not decoded. Exit code 0: all is as it should be.
    """
    from legogcd.paper.datasets import dataset_named
    from legogcd.paper.datasets.check import check as look_over

    dataset = dataset_named(name)
    checked = look_over(dataset, root)
    typer.echo(f"{dataset.title} in {checked.home}")
    for line in checked.counts:
        typer.echo(line)
    for line in checked.faults[:limit]:
        typer.echo(f"wrong: {line}")
    if not checked.faults:
        typer.echo("all is as it should be")
        return
    hidden = len(checked.faults) - limit
    typer.echo(f"{len(checked.faults)} wrong{f', {hidden} not shown (--limit)' if hidden > 0 else ''}")
    raise typer.Exit(2)


@datasets.command()
def download(name: NameArgument, root: RootOption) -> None:
    """Fetch and unpack a data set, or say where to get it.

    Only where the terms allow it; the published checksum is verified. Interrupted, the same command goes on.
    """
    from legogcd.display import Screen
    from legogcd.paper.datasets import dataset_named
    from legogcd.paper.datasets.download import download as fetch

    dataset = dataset_named(name)
    place = fetch(dataset, root, Screen())
    typer.echo(f"{dataset.title} is in {place}; terms: {dataset.license}")


@datasets.command()
def split(name: NameArgument, root: RootOption, out: Annotated[Path, typer.Option(help="JSON file to write.")]) -> None:
    """Write the paper's split as index lists.

    They hold the labelled and unlabelled training images, in file order from 0, and the Old and New classes.
    """
    import json

    from legogcd.files import write_text
    from legogcd.paper.datasets import dataset_named
    from legogcd.paper.datasets.index_lists import index_lists

    lists = index_lists(dataset_named(name), root)
    try:
        write_text(out, json.dumps(lists) + "\n")
    except OSError as error:
        raise UserError(f"cannot write {str(out)!r}: {error.strerror}") from None
    typer.echo(f"{len(lists['labelled'])} labelled, {len(lists['unlabelled'])} unlabelled images: {out}")


@datasets.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A.json", help="Index lists, as `split` writes them.")],
    second: Annotated[Path, typer.Argument(metavar="B.json", help="Index lists to hold against them.")],
) -> None:
    """Say whether two splits are equal, or what differs.

    Exit code 0: equal.
    """
    from legogcd.paper.datasets.index_lists import differences, read_index_lists

    found = differences(read_index_lists(first), read_index_lists(second))
    for line in found:
        typer.echo(line)
    if found:
        raise typer.Exit(2)
    typer.echo("equal")
