"""Mistakes in what was given that can be seen without loading anything: said first, in one line."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from legogcd.collection.archives import is_archive
from legogcd.collection.collection import more_labelled
from legogcd.collection.label_files import labels_in
from legogcd.collection.object_store import as_url
from legogcd.collection.python_inputs import SIDECARS
from legogcd.errors import UserError
from legogcd.run.options import AUTO_BACKBONE, LabelOptions, RunOptions

FOLDERS = "folders"  # what --labels says where the folders' names are the labels
TABLE_SUFFIXES = (".csv", ".jsonl", ".parquet")
"""Endings of the tables that are written."""

PARTS_SUFFIX = ".parts"  # a folder of Parquet files


def check_images(images: Path, single: bool = False) -> None:
    """Refuse what is no folder of images, no archive, no URL and, unless a ``single`` file will do, no image."""
    if as_url(images):
        return  # what is there is seen when it is listed
    if not images.exists():
        raise UserError(f"the image folder {str(images)!r} does not exist")
    if not (images.is_dir() or single or is_archive(images)):
        raise UserError(f"{str(images)!r} is a file; give the folder that holds the images, or a .zip or .tar of them")


def check_labels(labels: LabelOptions, options: RunOptions, from_run: Path | None = None) -> None:
    """Refuse labels and numbers of classes that are missing, are not there or contradict each other."""
    if labels.labels is None and from_run is None:
        raise UserError("--labels is needed: a CSV with columns path,label, or folders; or --from RUN")
    of_images = labels.labels in (FOLDERS, SIDECARS)
    if of_images and from_run is not None:
        raise UserError(
            f"--labels {labels.labels} does not go with --from: its labels come from RUN; a CSV file may add to them"
        )
    if labels.labels == FOLDERS and not labels.known_names:
        raise UserError("no known class was named; name one or more sub-folders with --known")
    if labels.known is not None and not of_images:
        raise UserError("--known goes with --labels folders; a labels file names the known classes itself")
    for path in (labels.truth, None if of_images else labels.labels):
        if path is not None and not Path(path).is_file():
            raise UserError(f"cannot read {str(path)!r}: there is no such file")
    if options.n_classes is None and from_run is None and not of_images:
        raise UserError(
            "--classes is needed: how many categories there are in all, known and new, or auto to estimate it"
        )
    given = set() if of_images or labels.labels is None else labels_in(labels.labels)
    if isinstance(options.n_classes, int) and len(given) > options.n_classes:
        raise UserError(more_labelled(len(given), options.n_classes))


def check_options(options: RunOptions) -> None:
    """Refuse a method, a recipe, a setting, a backbone or an image size that cannot work."""
    from legogcd.methods import check_method

    check_method(options.method_name)
    options.chosen_recipe()
    check_network(options)


def check_network(options: RunOptions) -> None:
    """Refuse a backbone that is not there, and an image size it does not take."""
    from legogcd.vision.backbones import check_backbone

    backbone = options.protocol.backbone
    if backbone != AUTO_BACKBONE:
        check_backbone(backbone, options.image_size)


def check_methods(names: Sequence[str], options: RunOptions) -> None:
    """Refuse methods to compare that there are not, and settings that one of them takes wrongly or none has."""
    for name in names:
        _ = options_of(options, name).chosen_recipe()
    unused = [name for name in _given(options) if not any(name in _fields(method) for method in names)]
    if unused:
        raise UserError(f"setting {unused[0]!r} belongs to none of the methods {', '.join(names)}")


def options_of(options: RunOptions, method: str) -> RunOptions:
    """The options of one of several methods, which takes of the settings those it has; the effort is spelled out."""
    from legogcd.methods import check_method

    own = {name: value for name, value in settings_of(options).items() if name in _fields(method)}
    protocol = options.protocol
    shared = {name: getattr(protocol, name) for name in ("backbone", "train_blocks", "views")}
    return options.changed(method=check_method(method), settings=own, epochs=None, effort="normal", **shared)


def settings_of(options: RunOptions) -> dict[str, Any]:
    """What is changed of the recipes of several methods, by the effort and by the person."""
    return {**options.brought.settings, **_given(options)}


def _given(options: RunOptions) -> dict[str, Any]:
    """The settings that the person gave; the number of epochs is one more of them."""
    return options.settings | ({"epochs": options.epochs} if options.epochs is not None else {})


def _fields(method: str) -> Mapping[str, Any]:
    from legogcd.methods import method_entry

    return method_entry(method).recipe.model_fields


def check_truth(labels: LabelOptions) -> None:
    """Refuse to compare methods where nothing says what is right."""
    if labels.truth is None and labels.labels not in (FOLDERS, SIDECARS):
        raise UserError("--truth is needed: methods are compared by the right categories of unlabelled images")


def check_run(run: Path) -> None:
    """Refuse a folder that no run can be in."""
    if not (run / "config.json").is_file():
        raise UserError(f"{run} does not hold a finished run: config.json is missing")


def check_table(out: Path, overwrite: bool = True) -> None:
    """Refuse a table whose ending says nothing, that cannot be written, or that would take the place of another."""
    parts = out.suffix.lower() == PARTS_SUFFIX
    if out.suffix.lower() not in TABLE_SUFFIXES and not parts:
        raise UserError(
            f"--out {out}: expected a file that ends in {', '.join(TABLE_SUFFIXES)}, or a folder that ends in .parts"
        )
    if parts and out.exists() and not out.is_dir():
        raise UserError(f"--out {out} is a file; a table in parts is a folder")
    if out.is_dir() and not parts:
        raise UserError(f"--out {out} is a folder; give a file")
    if out.exists() and not overwrite:
        raise UserError(f"--out {out} is there already; give another name, or --overwrite to replace it")
    parent = next(path for path in out.absolute().parents if path.exists())
    if not os.access(parent, os.W_OK):
        raise UserError(f"cannot write to {parent}; give another --out")
