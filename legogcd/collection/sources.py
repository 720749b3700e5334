"""Collections from label tables, from folder names and from Python lists."""

import difflib
import math
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.collection.archives import SIDECAR
from legogcd.collection.collection import UNLABELLED, Collection, Truth
from legogcd.collection.group_names import check_not_reserved
from legogcd.collection.images import ImageFiles, Images, Searched
from legogcd.errors import UserError
from legogcd.wording import counted, some_of


def from_labels(images: Images, labels: Mapping[str, str]) -> Collection:
    """A collection from label by image name; the known classes are the labels, sorted as strings."""
    ghosts = labels.keys() - set(images.names)
    if ghosts:
        raise UserError(f"{counted(len(ghosts), 'label')} for images that are not there: {some_of(sorted(ghosts), 3)}")
    known = sorted({label for label in labels.values() if label})
    check_not_reserved(known)
    ids = {name: i for i, name in enumerate(known)}
    rows = [ids.get(labels.get(name, ""), UNLABELLED) for name in images.names]
    return Collection(images, np.array(rows, dtype=np.int64), tuple(known))


def paper_draw(n: int, share: float = 0.5) -> NDArray[np.int64]:
    """Which of ``n`` images are labelled: ``int(share · n)``, by NumPy's legacy generator seeded 0, as in the paper.

    >>> paper_draw(6).tolist()
    [5, 2, 1]
    """
    return np.random.RandomState(0).choice(n, int(share * n), replace=False)


def from_folders(images: Searched, known: Sequence[str], share: float = 0.5) -> tuple[Collection, Truth]:
    """Label a share of the images of the ``known`` folders; every image's first folder is its true class.

    The draw is the paper's: ``int(share · N)`` of the N images of the known classes, in sorted path order, without
    replacement, by NumPy's legacy generator seeded 0; not stratified.
    """
    truth = {name: name.split("/", 1)[0] for name in images.names if "/" in name}
    known = _match_folders(known, sorted(set(truth.values())), images.root)
    return _drawn(images, truth, known, share)


def from_sidecars(images: Searched, known: Sequence[str] = (), share: float = 0.5) -> tuple[Collection, Truth]:
    """Labels out of the ``.cls`` files beside the images, as WebDataset has them; they are the truth as well.

    Without ``known`` every such label is used; with it, a share of the images of those classes, as in `from_folders`.
    """
    truth = sidecar_labels(images)
    missing = sorted(set(known) - set(truth.values()))
    if missing:
        raise UserError(f"no .cls file says {missing[0]!r}; there are: {some_of(sorted(set(truth.values())), 10)}")
    if known:
        return _drawn(images, truth, list(dict.fromkeys(known)), share)
    return from_labels(images, truth), Truth(truth)


def sidecar_labels(images: Searched) -> dict[str, str]:
    """What the ``.cls`` files beside the images say, by image name."""
    if isinstance(images, ImageFiles):
        found = {name: label for name in images.names if (label := _sidecar(images.root / name))}
    else:
        found = dict(images.labels)
    if not found:
        raise UserError(f"no image in {str(images.root)!r} has a label beside it; expected files such as 000001.cls")
    return found


def _sidecar(image: Path) -> str:
    """The first line of the file that holds an image's label; nothing where there is none."""
    beside = image.with_name(image.name.split(".", 1)[0] + SIDECAR)  # WebDataset: up to the first dot
    try:
        with open(beside, encoding="utf-8", errors="replace") as file:
            return file.readline(200).strip()
    except OSError:
        return ""


def _drawn(images: Searched, truth: Mapping[str, str], known: Sequence[str], share: float) -> tuple[Collection, Truth]:
    if not 0 < share <= 1:
        raise UserError(f"the labelled share is {share}; expected more than 0 and at most 1")
    check_not_reserved(known)
    ids = {name: i for i, name in enumerate(known)}
    sorted_rows = sorted(range(len(images)), key=images.names.__getitem__)
    old = [row for row in sorted_rows if truth.get(images.names[row]) in ids]
    drawn = paper_draw(len(old), share)
    labels = np.full(len(images), UNLABELLED, dtype=np.int64)
    for row in (old[i] for i in drawn):
        labels[row] = ids[truth[images.names[row]]]
    collection = Collection(images, labels, tuple(known))
    return collection._without_empty_classes("got no labelled image in the draw"), Truth(truth)


def from_python_labels(images: Images, labels: Any) -> tuple[Collection, list[int] | list[str]]:
    """A collection from one label per image, all whole numbers or all strings; -1, None or NaN mean unlabelled.

    In strings "" and "-1" mean unlabelled too: an array of strings cannot hold anything else. Returns also the
    known values as they were given, sorted; their positions are the class ids.

    >>> from legogcd.collection import as_images
    >>> collection, values = from_python_labels(as_images(np.zeros((4, 8, 8), np.uint8)), [7, -1, 3, 7])
    >>> collection.labels.tolist(), values
    ([1, -1, 0, 1], [3, 7])
    """
    if labels is None:
        labels = [None] * len(images)
    given = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if not isinstance(given, list) or len(given) != len(images):
        count = len(given) if isinstance(given, list) else 1
        raise UserError(
            f"{counted(len(images), 'image')} but {counted(count, 'label')}; give one per image, -1 for none"
        )
    values = [_label_value(label) for label in given]
    numbers = sorted({value for value in values if isinstance(value, int)})
    words = sorted({value for value in values if isinstance(value, str)})
    if numbers and words:
        raise UserError(f"labels mix numbers ({numbers[0]}) and strings ({words[0]!r}); use one kind")
    if numbers and numbers[0] < 0:
        raise UserError(f"label {numbers[0]} is negative; expected whole numbers from 0, or -1 for unlabelled")
    check_not_reserved(words)
    known: list[int] | list[str] = numbers if numbers else words
    ids: dict[int | str | None, int] = dict(zip(known, range(len(known)), strict=True))
    rows = np.array([ids.get(value, UNLABELLED) for value in values], dtype=np.int64)
    return Collection(images, rows, tuple(map(str, known))), known


def _label_value(label: Any) -> int | str | None:
    """The label as int or str; None where it means unlabelled."""
    if isinstance(label, str):
        return None if label in ("", "-1") else str(label)
    if label is None or type(label).__name__ in ("NAType", "NaTType"):  # pandas' own None
        return None
    if hasattr(label, "item") and getattr(label, "ndim", 0) == 0:
        label = label.item()
    if isinstance(label, Integral):
        return None if label == UNLABELLED else int(label)
    if isinstance(label, Real):
        number = float(label)
        if math.isnan(number):
            return None
        if number.is_integer():
            return None if number == UNLABELLED else int(number)
    raise UserError(f"label {label!r} is neither a whole number nor a string; use -1 or None for unlabelled")


def _match_folders(known: Sequence[str], folders: Sequence[str], root: Path | str) -> list[str]:
    """The folders that ``known`` names, in its order."""
    if not known:
        raise UserError("no known class was named; name one or more sub-folders")
    if not folders:
        raise UserError(f"the images in {str(root)!r} are in no sub-folders; expected one sub-folder per class")
    by_form = {unicodedata.normalize("NFC", folder): folder for folder in folders}
    found = [by_form.get(unicodedata.normalize("NFC", name), "") for name in known]
    for name, folder in zip(known, found, strict=True):
        if not folder:
            near = difflib.get_close_matches(name, folders, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise UserError(f"there is no folder {name!r} for a known class; {hint}there are: {some_of(folders, 10)}")
    twice = sorted(name for name, count in Counter(found).items() if count > 1)
    if twice:
        raise UserError(f"known classes are named twice: {some_of(twice, 5)}")
    return found
