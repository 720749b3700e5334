"""A page to work in."""

from pathlib import Path
from typing import Annotated

import typer

from legogcd.cli import options as o
from legogcd.errors import UserError


def review(
    run: o.Run,
    images: o.MovedImages = None,
    backbone: o.MovedBackbone = None,
    cache: Annotated[Path | None, typer.Option(help="Where kept views live; default: your cache folder.")] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Text file with names to suggest, one per line, for a backbone like CLIP.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in your browser.")] = True,
    host: Annotated[str, typer.Option(help="Address to listen on; others than this machine's: see --expose.")] = (
        "127.0.0.1"
    ),
    expose: Annotated[
        bool, typer.Option("--expose", help="Allow --host to be an address that other machines can reach.")
    ] = False,
) -> None:
    """Open a page to work in: look through the groups, name, merge, split, move, and train the next round.

    Everything you decide is in edits.jsonl of RUN at once, as if you had typed the commands; Ctrl-C ends the page.
    """
    from legogcd.review.serve import is_local, serve
    from legogcd.review.workspace import Location

    if not is_local(host) and not expose:
        raise UserError(
            f"--host {host} lets other machines reach your images and edit the run; if that is meant, add --expose"
        )
    if not is_local(host):
        typer.echo(
            f"legogcd: careful: listening on {host}, without encryption; whoever learns the address can see the "
            "images and edit the run",
            err=True,
        )
    serve(
        Location(run, images, backbone, cache, vocabulary), port=port, host=host, open_browser=browser, say=typer.echo
    )
