"""Data sets with one folder per class: Herbarium 19 and ImageNet."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from legogcd.collection import SUFFIXES, ImageFiles
from legogcd.errors import UserError
from legogcd.paper.datasets.dataset import DatasetSplit, Fault, SplitName
from legogcd.paper.datasets.disk import file_names, require, sub_folders

N_HERBARIUM, N_IMAGENET, N_IMAGENET100 = 683, 1000, 100


def imagenet100_classes() -> list[int]:
    """Positions of the paper's 100 classes among ImageNet's 1,000 sorted WordNet ids.

    >>> imagenet100_classes()[:4]
    [1, 14, 27, 31]
    """
    drawn = np.random.RandomState(0).choice(range(N_IMAGENET), N_IMAGENET100, replace=False)
    return sorted(drawn.tolist())


def read_herbarium_19(home: Path, split: SplitName, fault: Fault) -> DatasetSplit:
    folders: dict[SplitName, str] = {"train": "small-train", "test": "small-validation"}
    return _read(home, "small-train", folders[split], N_HERBARIUM, range(N_HERBARIUM), fault)


def read_imagenet1k(home: Path, split: SplitName, fault: Fault) -> DatasetSplit:
    return _read(home, "train", _imagenet_folder(split), N_IMAGENET, range(N_IMAGENET), fault)


def read_imagenet100(home: Path, split: SplitName, fault: Fault) -> DatasetSplit:
    return _read(home, "train", _imagenet_folder(split), N_IMAGENET, imagenet100_classes(), fault)


def _imagenet_folder(split: SplitName) -> str:
    return "train" if split == "train" else "val"


def _read(home: Path, train: str, folder: str, n_folders: int, chosen: Sequence[int], fault: Fault) -> DatasetSplit:
    """Images of the chosen classes, class after class, each in name order; the training folders give the order."""
    require(home, {train: None, folder: None}, fault)
    every_class = sub_folders(home / train)
    if len(every_class) != n_folders:
        raise UserError(
            f"{str(home / train)!r} has {len(every_class)} class folders; expected all {n_folders}: "
            "their sorted order decides which classes are Old (those that are not used may be empty)"
        )
    there = set(sub_folders(home / folder))
    if not there and _images(home / folder):
        raise UserError(f"the images of {str(home / folder)!r} lie loose in it; sort them into one folder per class")
    for stray in sorted(there - set(every_class)):
        fault(f"{str(home / folder / stray)!r} is no class of {train}")
    classes = [every_class[i] for i in chosen]
    names: list[str] = []
    ids: list[int] = []
    for number, name in enumerate(classes):
        if name not in there:
            fault(f"{str(home / folder / name)!r} is missing")
            continue
        images = _images(home / folder / name)
        names += [f"{folder}/{name}/{image}" for image in images]
        ids += [number] * len(images)
    return DatasetSplit(ImageFiles(home, tuple(names)), np.array(ids, dtype=np.int64), tuple(classes))


def _images(folder: Path) -> list[str]:
    return [name for name in file_names(folder) if PurePosixPath(name).suffix.lower() in SUFFIXES]
