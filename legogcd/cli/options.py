"""Options that several commands share, and what they become."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from legogcd.errors import UserError

if TYPE_CHECKING:
    from legogcd.collection import Collection, Truth
    from legogcd.run import ViewStorage


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
    int8 = "int8"


class Start(StrEnum):
    random = "random"
    kmeans = "kmeans"


Images = Annotated[Path, typer.Argument(metavar="IMAGES", help="Folder of images, searched recursively.")]
Labels = Annotated[
    str, typer.Option(help="CSV with columns path,label (paths relative to IMAGES), or `folders`: see --known.")
]
LabelsIfAny = Annotated[
    str | None, typer.Option(help="CSV with columns path,label (paths relative to IMAGES), or `folders`: see --known.")
]
Classes = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto",
        help="Categories in all, known and new; `auto` estimates it. With --labels folders: the number of sub-folders.",
    ),
]
Known = Annotated[
    str | None, typer.Option(help="With --labels folders: the sub-folders taken as known, like owl,hawk,finch.")
]
LabelledShare = Annotated[
    float, typer.Option(help="With --labels folders: share of the known classes' images whose label is used.")
]
TruthFile = Annotated[Path | None, typer.Option(help="CSV path,label to score with; it is never used to train.")]
MethodName = Annotated[
    str | None,
    typer.Option(help="A name from `legogcd methods`; default: legogcd+, or legogcd with a published recipe."),
]
RecipeName = Annotated[
    str, typer.Option(help="`default` (ours, for photos), `paper`, or one of its data sets: cub, cifar100, ...")
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Epochs to train; default: the recipe's.")]
HeldOut = Annotated[
    float, typer.Option(help="Share of the labels kept out of training, to calibrate the confidence; 0: none.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change any weight, temperature or rate; may be repeated."),
]
Backbone = Annotated[
    str, typer.Option(help="A name from `legogcd backbones`, a Hugging Face id, a model folder or a DINO .pth file.")
]
ImageSize = Annotated[int, typer.Option(help="Side of the square a backbone sees, in pixels.")]
TrainBlocks = Annotated[
    int, typer.Option(help="Train the last N blocks; 1 is the paper's choice and by far the fastest.")
]
Views = Annotated[
    str, typer.Option(help="Random views kept of each image (2 or more), or `fresh` to encode anew every epoch (slow).")
]
Cache = Annotated[Path | None, typer.Option(help="Where kept views live; default: your cache folder.")]
Budget = Annotated[str | None, typer.Option(help="Most disk for kept views, like 20GB; default: half of what is free.")]
KeptAs = Annotated[KeptDtype, typer.Option(help="How kept views are stored; int8 takes half of bf16's disk.")]
OnDevice = Annotated[Device, typer.Option(help="auto takes CUDA, then MPS, then the CPU.")]
InPrecision = Annotated[Precision, typer.Option(help="auto takes bf16 where the hardware multiplies it.")]
Threads = Annotated[int | None, typer.Option(help="CPU threads; default: all cores.")]


def open_collection(
    images: Path, labels: str, known: str | None, share: float, truth: Path | None, note: Callable[[str], None]
) -> "tuple[Collection, Truth | None]":
    """The images with the labels they have, and the truth where there is one."""
    from legogcd.collection import find_images, from_folders, from_labels, read_labels, read_truth
    from legogcd.wording import counted

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


def open_next_round(
    images: Path, run: Path, labels: str | None, truth: Path | None, note: Callable[[str], None]
) -> "tuple[Collection, Truth | None]":
    """The images with the labels a run was given and those confirmed in it; a labels file may add to them."""
    from legogcd.collection import find_images, from_labels, read_labels, read_truth
    from legogcd.edits import confirmed_labels
    from legogcd.wording import counted

    if labels == "folders":
        raise UserError(
            "--labels folders does not go with --from: its labels come from RUN; a CSV file may add to them"
        )
    found = find_images(images)
    there, confirmed = set(found.names), confirmed_labels(run)
    gone = len(confirmed.keys() - there)
    if gone:
        note(f"{counted(gone, 'labelled image')} of {run} not there any more")
    merged = {path: label for path, label in confirmed.items() if path in there}
    added = read_labels(Path(labels), found) if labels is not None else {}
    for path, label in added.items():
        if merged.setdefault(path, label) != label:
            raise UserError(f"{path} is {merged[path]!r} in {run} and {label!r} in {labels}; settle which it is")
    return from_labels(found, merged), read_truth(truth, found) if truth is not None else None


def categories_now(run: Path) -> str:
    """As many categories as a run has after its edits."""
    from legogcd.edits import current

    return str(current(run)["category"].nunique())


def count_classes(
    classes: str | None, collection: "Collection", truth: "Truth | None", labels: str | None
) -> int | None:
    """How many classes were asked for: a number, or None where they are to be estimated."""
    if classes is not None:
        return read_classes(classes)
    if truth is not None and labels == "folders":
        return truth.n_classes(collection)
    raise UserError("--classes is needed: how many categories there are in all, known and new, or auto to estimate it")


def read_classes(classes: str) -> int | None:
    """A number of classes as it was written; None for auto."""
    if classes.strip().lower() == "auto":
        return None
    if not classes.strip().isdecimal():
        raise UserError(f"--classes {classes}: expected a number, or auto")
    return int(classes)


def keeping_rules(views: str, cache: Path | None, budget: str | None, dtype: str) -> "ViewStorage":
    """How views are kept."""
    from legogcd.run import ViewStorage

    if views != "fresh" and not (views.isdecimal() and int(views) >= 2):
        raise UserError(f"--views {views}: expected a number from 2 up, or fresh")
    count: Any = views if views == "fresh" else int(views)
    return ViewStorage(count, cache, _bytes(budget) if budget is not None else None, str(dtype))


def _bytes(text: str) -> int:
    units = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
    number = text.strip().lower().rstrip("bkmgt ")
    unit = text.strip().lower()[len(number) :].strip()
    unit = unit if unit in units else f"{unit}b"
    try:
        return int(float(number) * units[unit])
    except (ValueError, KeyError):
        raise UserError(f"--disk-budget {text}: expected a size like 20GB or 500MB") from None


def read_settings(pairs: list[str], **options: Any) -> dict[str, Any]:
    """NAME=VALUE pairs and options that were given, as settings of a recipe."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--set {pair}: expected NAME=VALUE, like beta=1")
        settings[name.strip()] = value.strip()
    return settings | {name: value for name, value in options.items() if value is not None}


def read_names(text: str) -> list[str]:
    """A list with commas; blanks and empty parts do not count."""
    return [name.strip() for name in text.split(",") if name.strip()]
