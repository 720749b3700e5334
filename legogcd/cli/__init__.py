"""One verb a command. Heavy imports wait until a command needs them, so that ``--help`` answers at once."""

import errno
import re
import shlex
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from legogcd import launched
from legogcd.cli import edits
from legogcd.cli.cache import cache
from legogcd.cli.check import check
from legogcd.cli.classes import estimate_classes
from legogcd.cli.compare import compare
from legogcd.cli.datasets import datasets
from legogcd.cli.discover import discover, encode, evaluate
from legogcd.cli.doctor import doctor
from legogcd.cli.export import export
from legogcd.cli.figures import figures
from legogcd.cli.imports import import_
from legogcd.cli.options import Sectioned
from legogcd.cli.plan import plan
from legogcd.cli.predict import predict
from legogcd.cli.report import report
from legogcd.cli.reproduce import reproduce
from legogcd.cli.review import review
from legogcd.cli.volume import QuietFlag, VerboseFlag, say, set_volume, with_volume
from legogcd.errors import UserError
from legogcd.version import __version__
from legogcd.wording import printable

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}


class _Stopped(BaseException):
    """A stop on request, past typer, which would swallow what it says."""


_START = (
    ("legogcd demo", "sort handwritten digits, five of ten known: no data of yours needed"),
    ("legogcd discover photos --labels labels.csv --classes auto --out run", "sort your photos"),
    ("legogcd review run", "name the groups and put right what is wrong, in your browser; go again"),
)
_SECTIONS = {
    "Sort": ("discover", "predict", "demo"),
    "Before": ("plan", "estimate-classes", "encode"),
    "Look, correct, go on": ("review", "report", "export", "import"),
    "Correct by command": ("name", "merge", "split", "confirm", "aside", "undo", "redo"),
    "Measure and compare": ("evaluate", "compare", "methods", "backbones"),
    "This machine": ("doctor", "cache", "check"),
    "The paper": ("datasets", "reproduce", "figures"),
}


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        _check_launcher(ctx)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise _Stopped(str(stop)) from None

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        super().format_help_text(ctx, formatter)
        with formatter.section("Start with"):
            for command, purpose in _START:
                formatter.write(f"  {command}\n      {purpose}\n")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands by what they are for, each with its first sentence, whole."""
        listed = [name for names in _SECTIONS.values() for name in names]
        others = tuple(name for name in self.list_commands(ctx) if name not in listed)
        for title, names in [*_SECTIONS.items(), ("More", others)]:
            there = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, first_sentence(command.help or "")) for name, command in there if command is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def first_sentence(text: str) -> str:
    """The summary of a docstring: its first paragraph, without the example behind a colon.

    >>> first_sentence("Give a group a name: legogcd name run new-003 owl.\\n\\nMore.")
    'Give a group a name'
    """
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return re.split(r": legogcd |(?<=[a-z)`])\. ", paragraph)[0].rstrip(".")


_TOGETHER = ("discover", "encode")  # what several processes of one launcher can do together


def _check_launcher(ctx: Any) -> None:
    command = next(iter([*ctx._protected_args, *ctx.args]), None)
    if launched.count() > 1 and command in ctx.command.commands and command not in _TOGETHER:
        raise UserError(f"{command} runs in one process; start it without torchrun or accelerate launch")


app = typer.Typer(
    name="legogcd",
    cls=_Commands,
    help="Sort an image collection of which some images of some categories are labelled: the known categories by name, "
    "the new ones as groups.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    quiet: QuietFlag = False,
    verbose: VerboseFlag = False,
) -> None:
    set_volume(quiet, verbose, anew=True)
    if version:
        typer.echo(f"legogcd {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in (discover, plan, encode, compare, estimate_classes, report, review, predict, check, reproduce):
    app.command(cls=Sectioned)(with_volume(command))
for command in (evaluate, export, doctor, figures):
    app.command()(command)
for command in (edits.name, edits.merge, edits.split, edits.confirm, edits.aside, edits.undo, edits.redo):
    app.command()(command)
app.command("import")(import_)
app.add_typer(cache, name="cache")
app.add_typer(datasets, name="datasets")


@app.command()
def methods() -> None:
    """List the methods and what is in each."""
    from legogcd.methods import METHODS, PLUG_INS

    for name, entry in METHODS.items():
        typer.echo(f"{name:<18} {entry.description}")
    typer.echo(
        "\nBricks that simgcd, its steps, legogcd and legogcd+ take behind a colon, as in simgcd:prior,consensus:"
    )
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
    say(f"legogcd: {printable(' '.join(message.split()))}", err=True)
    return 2
