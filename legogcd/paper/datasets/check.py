"""Looks a data set on disk over: every missing or wrong file, and the counts beside the official and published ones."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from legogcd.collection import ImageFiles
from legogcd.errors import UserError
from legogcd.paper.datasets.dataset import DatasetSplit, PaperDataset, SplitName
from legogcd.paper.splits import labelled_rows, old_and_new, unlike_published


@dataclass(frozen=True)
class Checked:
    """``counts``: what there is, a line each; ``faults``: what is missing or wrong, a line each."""

    home: Path
    counts: tuple[str, ...]
    faults: tuple[str, ...]


def check(dataset: PaperDataset, root: str | os.PathLike[str]) -> Checked:
    """Read both splits and the paper's draw; images are looked up and must not be empty, but are not decoded."""
    home = dataset.home(root)
    faults: list[str] = []
    counts: list[str] = []
    names: tuple[SplitName, SplitName] = ("train", "test")
    official = dict(zip(names, (dataset.train_images if dataset.exact else None, dataset.test_images), strict=True))
    for name in names:
        try:
            split = dataset.read(home, name, faults.append)
        except UserError as mistake:
            faults.append(str(mistake))
            continue
        faults += [f"{repeated} is listed twice" for repeated in split.repeated()]
        faults += _empty_files(split)
        faults += _empty_classes(split, name)
        counts.append(_count_line(name, split, official[name]))
        if official[name] not in (None, len(split.images)):
            faults.append(f"{name} has {len(split.images)} images; the official number is {official[name]}")
        if name == "train":
            counts.append(_draw(dataset, split, faults))
    return Checked(home, tuple(counts), tuple(dict.fromkeys(faults)))


def _count_line(name: str, split: DatasetSplit, official: int | None) -> str:
    beside = f" (official: {official})" if official is not None else ""
    return f"{name}: {len(split.images)} images{beside} of {len(np.unique(split.classes))} classes"


def _draw(dataset: PaperDataset, split: DatasetSplit, faults: list[str]) -> str:
    old, _ = old_and_new(dataset.name)
    labelled = len(labelled_rows(split.classes, old))
    unlabelled = len(split.classes) - labelled
    unlike = unlike_published(dataset.name, labelled, unlabelled)
    if unlike is not None:
        faults.append(unlike)
    return f"split: {labelled} labelled, {unlabelled} unlabelled images; {len(old)} Old of {dataset.n_classes} classes"


def _empty_classes(split: DatasetSplit, name: SplitName) -> list[str]:
    counts = np.bincount(split.classes, minlength=len(split.class_names))
    return [f"{name} has no image of class {split.class_names[i]!r}" for i in np.flatnonzero(counts == 0)]


def _empty_files(split: DatasetSplit) -> list[str]:
    if not isinstance(split.images, ImageFiles):
        return []
    paths = (split.images.item(i) for i in range(len(split.images)))
    return [f"{str(path)!r} is empty" for path in paths if _is_empty(path)]


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except OSError:  # gone since the folder was listed, or a broken link
        return True
