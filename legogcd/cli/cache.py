"""What is kept between runs, and how to have the room back."""

from pathlib import Path
from typing import Annotated

import typer

cache = typer.Typer(help="Kept views and unpacked archives: what there is, and removing what is of no use any more.")
CacheFolder = Annotated[Path | None, typer.Option("--cache", help="The folder; default: your cache folder.")]


@cache.command("list")
def list_(folder: CacheFolder = None) -> None:
    """List what is kept: how large, of which images, whether they have changed since, when it was last used."""
    from legogcd.files import cache_folder
    from legogcd.run.cache import kept_things
    from legogcd.wording import counted, human_bytes

    home = folder or cache_folder()
    things = kept_things(home)
    for thing in things:
        typer.echo(f"{human_bytes(thing.size):>8}  {thing.kind:<8}  {thing.source}: {thing.state}, used {thing.age}")
    total = human_bytes(sum(thing.size for thing in things))
    typer.echo(f"{home}: {counted(len(things), 'folder')}, {total}")


@cache.command()
def prune(
    folder: CacheFolder = None,
    unused_days: Annotated[
        float | None, typer.Option(min=0, help="Also remove what nobody has used for so many days.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
) -> None:
    """Remove kept views of images that are gone or have changed, damaged and interrupted ones, and old archives.

    Removing costs nothing but the time to make them again; a run keeps everything it found.
    """
    from legogcd.files import cache_folder
    from legogcd.run.cache import prune as remove
    from legogcd.wording import counted, human_bytes

    gone = remove(folder or cache_folder(), unused_days, dry_run)
    for thing in gone:
        typer.echo(f"{human_bytes(thing.size):>8}  {thing.kind:<8}  {thing.source}: {thing.state}")
    freed = human_bytes(sum(thing.size for thing in gone))
    typer.echo(f"{counted(len(gone), 'folder')} {'would be ' * dry_run}removed, {freed}")
