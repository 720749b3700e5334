"""A split as plain index lists: written, read back, and held against another's."""

import hashlib
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from legogcd.errors import UserError
from legogcd.files import parse_json
from legogcd.paper.datasets.dataset import PaperDataset
from legogcd.paper.splits import old_and_new, training_split

_INDEX_KEYS = ("labelled", "unlabelled", "old", "new")


def index_lists(dataset: PaperDataset, root: str | os.PathLike[str]) -> dict[str, Any]:
    """The split as plain lists: positions in the training split in file order, and class ids in official order.

    ``names_sha256`` is over the images' names in that order, one a line: two copies with other files differ there.
    """
    collection, _ = training_split(dataset, root)
    old, new = old_and_new(dataset.name)
    names = "\n".join(collection.images.names)
    return {
        "dataset": dataset.name,
        "images": len(collection),
        "names_sha256": hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest(),
        "old": list(old),
        "new": list(new),
        "labelled": np.flatnonzero(collection.labelled).tolist(),
        "unlabelled": np.flatnonzero(~collection.labelled).tolist(),
    }


def read_index_lists(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Index lists from a JSON file; ours or anybody's with at least labelled, unlabelled, old and new."""
    try:
        content = parse_json(Path(path).read_bytes())
    except OSError as error:
        raise UserError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except ValueError:
        raise UserError(f"{str(path)!r} is not valid JSON; expected what `legogcd datasets split` writes") from None
    lists = content if isinstance(content, dict) else {}
    for key in _INDEX_KEYS:
        values = lists.get(key)
        if not isinstance(values, list) or not all(type(value) is int for value in values):
            raise UserError(f"{str(path)!r} has no list of whole numbers {key!r}; see `legogcd datasets split`")
    return lists


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """What differs between two splits' index lists, a line each; none where they are equal.

    >>> lists = {"labelled": [0, 2], "unlabelled": [1], "old": [3, 1], "new": [0, 2]}
    >>> differences(lists, lists | {"labelled": [2, 0]}), differences(lists, lists | {"old": [1, 3]})
    ([], ['old: the same classes in another order, so other class ids'])
    """
    found = [
        f"{key}: {first[key]} in the first, {second[key]} in the second"
        for key in ("dataset", "images")
        if key in first and key in second and first[key] != second[key]
    ]
    for key in _INDEX_KEYS:
        found += _list_difference(key, first[key], second[key], ordered=key in ("old", "new"))
    key = "names_sha256"
    if key in first and key in second and first[key] != second[key]:
        found.append("files: the images' names or their order differ")
    return found


def _list_difference(key: str, first: list[int], second: list[int], ordered: bool) -> list[str]:
    ours, theirs = Counter(first), Counter(second)
    if ours != theirs:
        return [f"{key}: {_some(ours - theirs)} only in the first, {_some(theirs - ours)} only in the second"]
    if ordered and first != second:
        return [f"{key}: the same classes in another order, so other class ids"]
    return []


def _some(values: Counter[int]) -> str:
    listed = sorted(values.elements())
    shown = ", ".join(map(str, listed[:5])) + (", ..." if len(listed) > 5 else "")
    return f"{len(listed)} ({shown})" if listed else "none"
