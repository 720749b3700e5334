"""The paper's protocol: which classes are Old, which training images are labelled, and the held-out test images."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from legogcd.collection import UNLABELLED, Collection, Truth, paper_draw
from legogcd.collection.group_names import check_not_reserved
from legogcd.paper.datasets import DatasetSplit, PaperDataset, dataset_named
from legogcd.paper.published import published

_NEW_ORDER = ("hard", "medium", "easy")
_ROUNDED = 0.01  # published counts that are not exact are within one percent


class HeldOut(NamedTuple):
    """Test images, none labelled, with the same known classes as the training collection, and their truth."""

    collection: Collection
    truth: Truth


class PaperSplit(NamedTuple):
    """What the protocol gives: the training collection, its truth, and the held-out test images."""

    collection: Collection
    truth: Truth
    test: HeldOut


@cache
def old_and_new(name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The Old and the New classes of a data set, in list order: the order of the re-mapped class ids.

    >>> old_and_new("cifar10")
    ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9))
    """
    dataset = dataset_named(name)
    listed = json.loads(files("legogcd.paper").joinpath("old_new_classes.json").read_text("utf-8"))
    if name in listed:
        new = [number for kind in _NEW_ORDER for number in listed[name]["new"][kind]]
        return tuple(listed[name]["old"]), tuple(new)
    n_old = dataset.n_old or published()["sizes"].get(name, {}).get("old", dataset.n_classes // 2)
    everything = range(dataset.n_classes)
    if dataset.old_drawn:
        old = np.random.RandomState(0).choice(everything, n_old, replace=False).tolist()
    else:
        old = list(everything[:n_old])
    return tuple(old), tuple(sorted(set(everything) - set(old)))


def labelled_rows(classes: NDArray[np.int64], old: Sequence[int]) -> NDArray[np.int64]:
    """Rows of the labelled images: int(0.5·N) of the N images of Old classes, drawn with the legacy seed 0; sorted."""
    candidates = np.flatnonzero(np.isin(classes, np.asarray(old)))
    return np.sort(candidates[paper_draw(len(candidates))])


def paper_split(dataset: PaperDataset | str, root: str | os.PathLike[str]) -> PaperSplit:
    """The paper's split of a data set: training collection, its truth, and the test images with theirs."""
    dataset = dataset_named(dataset) if isinstance(dataset, str) else dataset
    collection, truth = training_split(dataset, root)
    test = dataset.load(root, "test")
    labels = np.full(len(test.images), UNLABELLED, dtype=np.int64)
    held_out = HeldOut(
        Collection(test.images, labels, collection.known, known_by_name=True), _truth(test, dataset.name)
    )
    return PaperSplit(collection, truth, held_out)


def training_split(dataset: PaperDataset, root: str | os.PathLike[str]) -> tuple[Collection, Truth]:
    """The training images with the paper's labels, and their truth.

    Class ids are the positions in the Old list. An Old class that got no labelled image stays known, as in the paper.
    """
    train = dataset.load(root, "train")
    old, new = old_and_new(dataset.name)
    new_id = np.empty(dataset.n_classes, dtype=np.int64)
    new_id[[*old, *new]] = np.arange(dataset.n_classes)
    rows = labelled_rows(train.classes, old)
    labels = np.full(len(train.images), UNLABELLED, dtype=np.int64)
    labels[rows] = new_id[train.classes[rows]]
    names = _unique_names(train.class_names)
    known = tuple(names[number] for number in old)
    check_not_reserved(names)
    unlike = unlike_published(dataset.name, len(rows), len(labels) - len(rows))
    hint = f"{unlike}; see `legogcd datasets check {dataset.name}`"
    notes = () if unlike is None else (hint,)
    return Collection(train.images, labels, known, notes, known_by_name=True), _truth(train, dataset.name)


def unlike_published(name: str, labelled: int, unlabelled: int) -> str | None:
    """One line where the counts are not the published ones; None where they are, or where there are none."""
    sizes = published()["sizes"].get(name)
    if sizes is None:
        return None
    slack = 0.0 if sizes.get("exact", True) else _ROUNDED
    wanted = (sizes["labelled"], sizes["unlabelled"])
    pairs = zip((labelled, unlabelled), wanted, strict=True)
    if all(abs(count - expected) <= slack * expected for count, expected in pairs):
        return None
    about = "about " if slack else ""
    return (
        f"the split has {labelled} labelled and {unlabelled} unlabelled images; "
        f"published: {about}{wanted[0]} and {about}{wanted[1]}"
    )


def _truth(split: DatasetSplit, dataset: str) -> Truth:
    """The true classes, whose ids are the paper's: which of several best matchings is taken depends on them."""
    names = _unique_names(split.class_names)
    old, new = old_and_new(dataset)
    labels = {image: names[number] for image, number in zip(split.images.names, split.classes, strict=True)}
    return Truth(labels, order=tuple(names[number] for number in (*old, *new)))


def _unique_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, with the class's number where one is given twice."""
    counts = Counter(names)
    return tuple(name if counts[name] == 1 else f"{name} ({number})" for number, name in enumerate(names))
