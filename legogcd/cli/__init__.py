"""One verb a command. Heavy imports wait until a command needs them, so that ``--help`` answers at once."""

import errno
import shlex
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from legogcd.cli import edits
from legogcd.cli.check import check
from legogcd.cli.classes import estimate_classes
from legogcd.cli.compare import compare
from legogcd.cli.datasets import datasets
from legogcd.cli.discover import discover, encode, evaluate
from legogcd.cli.export import export
from legogcd.cli.figures import figures
from legogcd.cli.plan import plan
from legogcd.cli.predict import predict
from legogcd.cli.report import report
from legogcd.cli.reproduce import reproduce
from legogcd.errors import UserError
from legogcd.wording import printable

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}


class _Stopped(BaseException):
    """A stop on request, past typer, which would swallow what it says."""


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise _Stopped(str(stop)) from None


app = typer.Typer(
    name="legogcd",
    cls=_Commands,
    help="Sort an image collection of which some images of some categories are labelled: the known categories by name, "
    "the new ones as groups. Try `legogcd demo` first, then `legogcd discover --help`.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (discover, plan, encode, evaluate, compare, estimate_classes, report, predict, export, check):
    app.command()(command)
for edit in (edits.name, edits.merge, edits.split, edits.confirm, edits.undo):
    app.command()(edit)


@app.command()
def methods() -> None:
    """List the methods and what is in each."""
    from legogcd.methods import METHODS, PLUG_INS

    for name, entry in METHODS.items():
        typer.echo(f"{name:<18} {entry.description}")
    typer.echo("\nBricks that simgcd, its steps and legogcd take behind a colon, as in simgcd:prior,consensus:")
    for name, plug_in in sorted(PLUG_INS.items()):
        typer.echo(f":{name:<17} {plug_in.description}")


@app.command()
def backbones() -> None:
    """List backbones that are known to work, and how to name others."""
    from legogcd.vision.backbones import KNOWN_BACKBONES

    for known in KNOWN_BACKBONES:
        typer.echo(f"{known.name:<40} {known.dim:>5}  {'offline' if known.offline else 'hub':<8} {known.description}")
    typer.echo("Any other Hugging Face id or local folder of a ViT with a CLS token works, and DINO's own .pth files.")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for pictures and runs; a number is added if it is taken.")] = Path(
        "legogcd-demo"
    ),
    seed: Annotated[int, typer.Option(help="Seed of both runs.")] = 0,
) -> None:
    """Sort scikit-learn's handwritten digits, five of them known: k-means, SimGCD and LegoGCD; no network."""
    from legogcd.demo import run_demo

    run_demo(out, seed, typer.echo)


app.add_typer(datasets, name="datasets")
app.command()(reproduce)
app.command()(figures)


def main() -> None:
    """Run the command line; a mistake of the user's ends in one line and exit code 2."""
    warnings.filterwarnings("ignore", module="PIL")  # a picture with odd EXIF data is no news to its owner
    stopped_by = _stop_on_request()
    try:
        code = app(standalone_mode=False)
    except UserError as mistake:
        code = _complain(str(mistake))
    except (_Stopped, KeyboardInterrupt) as stop:
        typer.echo(f"legogcd: {_how_to_go_on(str(stop), sys.argv[1:])}", err=True)
        code = 128 + (stopped_by[-1] if stopped_by else signal.SIGINT)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        where = f" for {error.filename!r}" if error.filename else ""
        code = _complain(f"{error.strerror}{where}: make room, then {_same_command(sys.argv[1:])}")
    except Exception as error:
        if not hasattr(error, "format_message"):  # what click, typer's own copy of it too, gives a wrong command line
            raise
        code = _complain(error.format_message())
    sys.exit(code if isinstance(code, int) else 0)


def _stop_on_request() -> list[int]:
    """Let SIGTERM end a command as Ctrl-C does; the list tells which of them came."""
    came: list[int] = []

    def stop(number: int, _: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    for name in ("SIGINT", "SIGTERM"):
        if hasattr(signal, name) and threading.current_thread() is threading.main_thread():
            signal.signal(getattr(signal, name), stop)
    return came


def _how_to_go_on(saved: str, arguments: list[str]) -> str:
    return f"interrupted{f', {saved}' if saved else ''}; {_same_command(arguments)}"


def _same_command(arguments: list[str]) -> str:
    """What to type to go on: the same command, for a run with --resume."""
    resumed = arguments[:1] == ["discover"] and "--resume" not in arguments
    return f"go on with: {shlex.join(['legogcd', *arguments, *(['--resume'] if resumed else [])])}"


def _complain(message: str) -> int:
    typer.echo(f"legogcd: {printable(' '.join(message.split()))}", err=True)
    return 2
