"""One verb a command. Heavy imports wait until a command needs them, so that ``--help`` answers at once."""

import sys
import warnings
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from legogcd.errors import UserError
from legogcd.paper.commands import datasets

if TYPE_CHECKING:
    from legogcd.collection import Collection, Truth
    from legogcd.training import KeepingRules

app = typer.Typer(
    name="legogcd",
    help="Sort an image collection of which some images of some categories are labelled: the known categories by name, "
    "the new ones as groups. Try `legogcd demo` first, then `legogcd discover --help`.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(datasets, name="datasets")


class Device(StrEnum):
    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"
    mps = "mps"


class Precision(StrEnum):
    auto = "auto"
    fp32 = "fp32"
    bf16 = "bf16"


class KeptDtype(StrEnum):
    bf16 = "bf16"
    fp16 = "fp16"
    fp32 = "fp32"


class Start(StrEnum):
    random = "random"
    kmeans = "kmeans"


ImagesArgument = Annotated[Path, typer.Argument(metavar="IMAGES", help="Folder of images, searched recursively.")]
BackboneOption = Annotated[
    str, typer.Option(help="A name from `legogcd backbones`, a Hugging Face id, a model folder or a DINO .pth file.")
]
ImageSizeOption = Annotated[int, typer.Option(help="Side of the square a backbone sees, in pixels.")]
TrainBlocksOption = Annotated[
    int, typer.Option(help="Train the last N blocks; 1 is the paper's choice and by far the fastest.")
]
ViewsOption = Annotated[
    str, typer.Option(help="Random views kept of each image (2 or more), or `fresh` to encode anew every epoch (slow).")
]
CacheOption = Annotated[Path | None, typer.Option(help="Where kept views live; default: your cache folder.")]
BudgetOption = Annotated[
    str | None, typer.Option(help="Most disk for kept views, like 20GB; default: half of what is free.")
]
KeptDtypeOption = Annotated[KeptDtype, typer.Option(help="How kept views are stored.")]
DeviceOption = Annotated[Device, typer.Option(help="auto takes CUDA, then MPS, then the CPU.")]
PrecisionOption = Annotated[Precision, typer.Option(help="auto takes bf16 where the hardware multiplies it.")]
ThreadsOption = Annotated[int | None, typer.Option(help="CPU threads; default: all cores.")]


@app.command()
def discover(
    images: ImagesArgument,
    labels: Annotated[
        str, typer.Option(help="CSV with columns path,label (paths relative to IMAGES), or `folders`: see --known.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the run; must not hold one yet.")],
    classes: Annotated[
        int | None,
        typer.Option(help="Categories in all, known and new. With --labels folders: the number of sub-folders."),
    ] = None,
    known: Annotated[
        str | None, typer.Option(help="With --labels folders: the sub-folders taken as known, like owl,hawk,finch.")
    ] = None,
    labelled_share: Annotated[
        float, typer.Option(help="With --labels folders: share of the known classes' images whose label is used.")
    ] = 0.5,
    truth: Annotated[Path | None, typer.Option(help="CSV path,label to score with; it is never used to train.")] = None,
    method: Annotated[str, typer.Option(help="A name from `legogcd methods`.")] = "legogcd",
    recipe: Annotated[
        str, typer.Option(help="`default` (ours, for photos), `paper`, or one of its data sets: cub, cifar100, ...")
    ] = "default",
    epochs: Annotated[int | None, typer.Option(help="Epochs to train; default: the recipe's.")] = None,
    start: Annotated[
        Start | None, typer.Option(help="Where prototypes start: random is the paper's; default: the recipe's.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change any weight, temperature or rate; may be repeated."),
    ] = None,
    backbone: BackboneOption = "efficientnet-lite0",
    image_size: ImageSizeOption = 224,
    train_blocks: TrainBlocksOption = 1,
    views: ViewsOption = "4",
    cache: CacheOption = None,
    disk_budget: BudgetOption = None,
    kept_dtype: KeptDtypeOption = KeptDtype.bf16,
    seed: Annotated[int, typer.Option(help="Same seed, same machine, same bytes.")] = 0,
    device: DeviceOption = Device.auto,
    precision: PrecisionOption = Precision.auto,
    threads: ThreadsOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run in --out.")] = False,
) -> None:
    """Sort every image of a folder, given labels for some.

    Label a few images of the categories you know in a CSV file:

        path,label
        2024/IMG_0001.jpg,owl

    then: legogcd discover photos --labels labels.csv --classes 12 --out run

    RUN gets predictions.csv (path, category, status, confidence, predicted), curves.png, groups.png, metrics.jsonl,
    config.json and model.safetensors. To try it on a data set with one folder a class:

        legogcd discover birds --labels folders --known owl,hawk,finch --out run
    """
    from legogcd.evaluation import scoring
    from legogcd.paper import choose_recipe
    from legogcd.training import Job
    from legogcd.training import discover as run
    from legogcd.training.display import Screen

    display = Screen()
    collection, known_truth = _collection(images, labels, known, labelled_share, truth, display.note)
    if classes is None and known_truth is not None and labels == "folders":
        classes = known_truth.n_classes(collection)
    if classes is None:
        raise UserError("--classes is needed: how many categories there are in all, known and new")
    settings = _settings(set_ or [], epochs=epochs, start=start)
    job = Job(
        collection=collection,
        n_classes=classes,
        method=method,
        recipe=choose_recipe(recipe, method, backbone, settings),
        backbone=backbone,
        image_size=image_size,
        train_blocks=train_blocks,
        keeping=_keeping(views, cache, disk_budget, kept_dtype),
        seed=seed,
        device=device,
        precision=precision,
        threads=threads,
    )
    score = scoring(known_truth) if known_truth is not None else None
    outcome = run(job, out, score=score, resume=resume, display=display)
    _pictures(outcome, collection, out, images.name)
    typer.echo(outcome.discovery.summary())
    if score is not None:
        typer.echo(_scores(outcome.metrics))
    typer.echo(f"categories: {out / 'predictions.csv'}; pictures: {out / 'curves.png'}, {out / 'groups.png'}")


@app.command()
def encode(
    images: ImagesArgument,
    backbone: BackboneOption = "efficientnet-lite0",
    image_size: ImageSizeOption = 224,
    train_blocks: TrainBlocksOption = 1,
    views: ViewsOption = "4",
    cache: CacheOption = None,
    disk_budget: BudgetOption = None,
    kept_dtype: KeptDtypeOption = KeptDtype.bf16,
    device: DeviceOption = Device.auto,
    precision: PrecisionOption = Precision.auto,
    threads: ThreadsOption = None,
) -> None:
    """Fill the cache of kept views alone; `discover` with the same settings then starts to train at once."""
    from legogcd.collection import find_images
    from legogcd.training.display import Screen
    from legogcd.training.runtime import open_runtime
    from legogcd.training.views import open_views
    from legogcd.vision import Encoder, load_backbone

    display = Screen()
    runtime = open_runtime(device, precision, threads)
    model = load_backbone(backbone, image_size=image_size, train_blocks=train_blocks).to(runtime.device)
    encoder = Encoder(model, runtime.device, runtime.precision)
    found = find_images(images)
    opened = open_views(encoder, found, _keeping(views, cache, disk_budget, kept_dtype), display)
    for row, reason in sorted(opened.unreadable.items()):
        display.warn(f"{found.names[row]}: {reason}")
    typer.echo(f"{len(found) - len(opened.unreadable)} images ready, {len(opened.unreadable)} unreadable")


@app.command()
def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    truth: Annotated[Path, typer.Option(help="CSV path,label with the right category of images.")],
    balanced: Annotated[bool, typer.Option("--balanced", help="Average over classes, not over images.")] = False,
) -> None:
    """Score a finished run: All, Old and New after one optimal matching, on the images it had no label for."""
    from legogcd.evaluation import evaluate_run
    from legogcd.training.display import percent

    scores = evaluate_run(run, truth, balanced)
    for name in ("all", "old", "new", "nmi", "ari", "forgetting"):
        if name in scores:
            label = {"nmi": "NMI", "ari": "ARI", "forgetting": "Forgetting of Old"}.get(name, name.capitalize())
            typer.echo(f"{label:<18} {percent(scores[name]):>6}")
    typer.echo(f"{'Images scored':<18} {scores['images']:>6}")


@app.command()
def methods() -> None:
    """List the methods and what is in each."""
    from legogcd.methods import METHODS

    for name, description in METHODS.items():
        typer.echo(f"{name:<18} {description}")


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


def _collection(
    images: Path, labels: str, known: str | None, share: float, truth: Path | None, note: Callable[[str], None]
) -> "tuple[Collection, Truth | None]":
    from legogcd.collection import find_images, from_folders, from_labels, read_labels, read_truth
    from legogcd.collection.phrases import counted

    found = find_images(images)
    if found.ignored:
        note(f"{counted(found.ignored, 'file')} passed over: not an image by name")
    known_truth = read_truth(truth, found) if truth is not None else None
    if known_truth is not None and known_truth.unmatched:
        note(f"{counted(known_truth.unmatched, 'image')} of {truth} not there: not scored")
    if labels != "folders":
        if known is not None:
            raise UserError("--known goes with --labels folders; a labels file names the known classes itself")
        return from_labels(found, read_labels(Path(labels), found)), known_truth
    names = [name.strip() for name in (known or "").split(",") if name.strip()]
    collection, folder_truth = from_folders(found, names, share)
    return collection, known_truth or folder_truth


def _keeping(views: str, cache: Path | None, budget: str | None, dtype: str) -> "KeepingRules":
    from legogcd.training import KeepingRules

    if views != "fresh" and not (views.isdecimal() and int(views) >= 2):
        raise UserError(f"--views {views}: expected a number from 2 up, or fresh")
    count: Any = views if views == "fresh" else int(views)
    return KeepingRules(count, cache, _bytes(budget) if budget is not None else None, str(dtype))


def _bytes(text: str) -> int:
    units = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
    number = text.strip().lower().rstrip("bkmgt ")
    unit = text.strip().lower()[len(number) :].strip()
    unit = unit if unit in units else f"{unit}b"
    try:
        return int(float(number) * units[unit])
    except (ValueError, KeyError):
        raise UserError(f"--disk-budget {text}: expected a size like 20GB or 500MB") from None


def _settings(pairs: list[str], **options: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--set {pair}: expected NAME=VALUE, like beta=1")
        settings[name.strip()] = value.strip()
    return settings | {name: value for name, value in options.items() if value is not None}


def _pictures(outcome: Any, collection: "Collection", out: Path, name: str) -> None:
    from legogcd.report import draw_contact_sheet, draw_curves

    config = outcome.config
    draw_curves(outcome.metrics, out / "curves.png", f"{name}: {config['method']}, seed {config['seed']}")
    draw_contact_sheet(outcome.discovery, collection.images, out / "groups.png")


def _scores(metrics: list[dict[str, Any]]) -> str:
    from legogcd.evaluation import forgetting
    from legogcd.training.display import percent

    last = metrics[-1]
    lost = forgetting([entry["old"] for entry in metrics if entry.get("old") is not None])
    return (
        f"All {percent(last.get('all'))}  Old {percent(last.get('old'))}  New {percent(last.get('new'))}  "
        f"forgetting of Old {percent(lost)}"
    )


def main() -> None:
    """Run the command line; a mistake of the user's ends in one line and exit code 2."""
    warnings.filterwarnings("ignore", module="PIL")  # a picture with odd EXIF data is no news to its owner
    try:
        code = app(standalone_mode=False)
    except UserError as mistake:
        code = _complain(str(mistake))
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("legogcd: interrupted; the same command with --resume goes on", err=True)
        code = 130
    except Exception as error:
        if not hasattr(error, "format_message"):  # what click, typer's own copy of it too, gives a wrong command line
            raise
        code = _complain(error.format_message())
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> int:
    typer.echo(f"legogcd: {' '.join(message.split())}", err=True)
    return 2
