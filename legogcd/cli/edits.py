"""Say what the groups of a run are: name, merge, split, confirm; undo takes the last edit back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from legogcd.cli.options import Run

if TYPE_CHECKING:
    from legogcd.edits import Edit

ImageOption = Annotated[
    list[str] | None,
    typer.Option("--images", metavar="PATH...", help="Images, by their paths in predictions.csv; one or more."),
]
Groups = Annotated[
    list[str] | None, typer.Argument(metavar="[GROUP]...", help="Known classes or groups; all their images.")
]
ImageFile = Annotated[Path | None, typer.Option("--file", help="Text file with one image path per line.")]


def name(
    run: Run,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="new-NNN, or the name it has.")],
    new_name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called from now on.")],
) -> None:
    """Give a group a name: legogcd name run new-003 "snowy owl"."""
    from legogcd.edits import Name

    _append(run, Name(group, new_name))


def merge(
    run: Run,
    into: Annotated[str, typer.Argument(metavar="INTO", help="Known class or group that takes the others in.")],
    groups: Annotated[list[str], typer.Argument(metavar="GROUP...", help="What goes into it; one or more.")],
) -> None:
    """Make several groups one: legogcd merge run owl new-003 new-007."""
    from legogcd.edits import Merge

    _append(run, Merge(into, tuple(groups)))


def split(
    run: Run,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="Known class or group the images are in.")],
    more: Annotated[list[str] | None, typer.Argument(metavar="[PATH]...", help="More images.")] = None,
    images: ImageOption = None,
    file: ImageFile = None,
    into: Annotated[
        str | None, typer.Option(help="Where they go: a new name or a category there is; default: the next new-NNN.")
    ] = None,
) -> None:
    """Take images out of a group: legogcd split run new-003 --images a.jpg b.jpg --into "barn owl"."""
    from legogcd.edits import Split

    _append(run, Split(group, (*(images or []), *(more or []), *_listed(file)), into))


def confirm(
    run: Run,
    groups: Groups = None,
    images: ImageOption = None,
    file: ImageFile = None,
) -> None:
    """Say that images are where they belong: legogcd confirm run "snowy owl". Their category is then a label.

    With --images, every path that follows is an image: legogcd confirm run --images a.jpg b.jpg
    """
    from legogcd.run.categories import confirmation

    _append(run, confirmation(run, *_chosen(groups, images, file)))


def aside(
    run: Run,
    groups: Groups = None,
    images: ImageOption = None,
    file: ImageFile = None,
) -> None:
    """Set aside images that show nothing of the collection: legogcd aside run new-007. They leave training and exports.

    With --images, every path that follows is an image: legogcd aside run --images a.jpg b.jpg
    """
    from legogcd.run.categories import setting_aside

    _append(run, setting_aside(run, *_chosen(groups, images, file)))


def undo(
    run: Run, list_: Annotated[bool, typer.Option("--list", help="Only show the edits, with their numbers.")] = False
) -> None:
    """Take back the last edit that is in force; again, the one before."""
    from legogcd.edits import Undo
    from legogcd.run.categories import edit_lines

    if list_:
        for line in edit_lines(run) or ["no edits yet"]:
            typer.echo(line)
    else:
        _append(run, Undo())


def redo(run: Run) -> None:
    """Make the edit that was taken back last again; again, the one before."""
    from legogcd.edits import Redo

    _append(run, Redo())


def _chosen(groups: list[str] | None, images: list[str] | None, file: Path | None) -> tuple[list[str], list[str]]:
    """Groups and images that are meant: with --images, every word that follows is an image."""
    words, listed = groups or [], _listed(file)
    return (words, listed) if images is None else ([], [*images, *words, *listed])


def _append(run: Path, edit: "Edit") -> None:
    from legogcd.run.categories import append_edit, summary_line

    typer.echo(summary_line(run, append_edit(run, edit)))


def _listed(file: Path | None) -> list[str]:
    """The paths in a file, one per line."""
    from legogcd.files import read_lines

    return [] if file is None else read_lines(file, "--file", "image path")
