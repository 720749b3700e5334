"""One verb a command. Heavy imports wait until a command needs them, so that ``--help`` answers at once."""

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from legogcd.cli import edits
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

app = typer.Typer(
    name="legogcd",
    help="Sort an image collection of which some images of some categories are labelled: the known categories by name, "
    "the new ones as groups. Try `legogcd demo` first, then `legogcd discover --help`.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (discover, plan, encode, evaluate, compare, estimate_classes, report, predict, export):
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
    try:
        code = app(standalone_mode=False)
    except UserError as mistake:
        code = _complain(str(mistake))
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("legogcd: interrupted; give the same command again (discover: with --resume, to go on)", err=True)
        code = 130
    except Exception as error:
        if not hasattr(error, "format_message"):  # what click, typer's own copy of it too, gives a wrong command line
            raise
        code = _complain(error.format_message())
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> int:
    typer.echo(f"legogcd: {' '.join(message.split())}", err=True)
    return 2
