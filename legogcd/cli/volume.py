"""How much a command says: -q, -v, and the screen it says it on."""

import inspect
import shutil
import sys
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from legogcd.display import Quiet

QuietFlag = Annotated[bool, typer.Option("-q", "--quiet", help="Only warnings and results: no progress, no notes.")]
VerboseFlag = Annotated[
    bool, typer.Option("-v", "--verbose", help="More: what the loss is made of, and what each phase took.")
]


class _Volume:
    quiet = False
    verbose = False


_volume = _Volume()


def set_volume(quiet: bool, verbose: bool, *, anew: bool = False) -> None:
    """What was asked for, before the command's name or behind it."""
    _volume.quiet = quiet or (_volume.quiet and not anew)
    _volume.verbose = verbose or (_volume.verbose and not anew)


def is_verbose() -> bool:
    return _volume.verbose and not _volume.quiet


def display() -> "Quiet":
    """What shows the progress of a command."""
    from legogcd.display import Hushed, Screen

    return Hushed() if _volume.quiet else Screen(terms=_volume.verbose)


def say(text: str, err: bool = False) -> None:
    """A result, or with ``err`` a complaint; a terminal's lines end between words, a file's are whole."""
    if (sys.stderr if err else sys.stdout).isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    typer.echo(text, err=err)


def with_volume(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes -q and -v as well."""
    signature = inspect.signature(command)
    kind = inspect.Parameter.KEYWORD_ONLY
    flags = [
        inspect.Parameter("quiet", kind, default=False, annotation=QuietFlag),
        inspect.Parameter("verbose", kind, default=False, annotation=VerboseFlag),
    ]

    def louder(quiet: bool, verbose: bool, **given: Any) -> None:
        set_volume(quiet, verbose)
        command(**given)

    own = [parameter.replace(kind=kind) for parameter in signature.parameters.values()]
    louder.__name__, louder.__doc__ = command.__name__, command.__doc__
    louder.__signature__ = inspect.Signature([*own, *flags])  # type: ignore[attr-defined]
    louder.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *flags)}
    return louder
