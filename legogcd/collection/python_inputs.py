"""Images and labels as a Python user holds them: tables, data sets of other libraries, pairs, mappings, a CSV file."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from legogcd.collection.images import ImageArrays, ImageFiles, Images, Note, as_images, given_paths, is_lazy
from legogcd.collection.label_files import read_labels
from legogcd.collection.sources import sidecar_labels
from legogcd.errors import UserError
from legogcd.wording import some_of

_IMAGE_COLUMNS = ("image", "img", "images", "picture", "photo")
_PATH_COLUMNS = ("path", "file", "filename", "file_name", "filepath", "image_path")
_LABEL_COLUMNS = ("label", "labels", "class", "category", "target", "fine_label")
SIDECARS = "cls"  # labels that stand in .cls files beside the images
_TARGETS = ("targets", "labels", "_labels")  # where torch's data sets keep what they label their images with


def images_and_labels(images: Any, labels: Any = None, note: Note | None = None) -> tuple[Images, Any]:
    """Images, and one label per image where there are any (None where nothing was said of labels).

    ``images`` may bring labels: a mapping of path → label, a DataFrame with the columns path and label, a Hugging Face
    ``Dataset`` with an image and a label column, a torch ``Dataset`` of pairs (image, label), a list of such pairs.
    ``labels`` count before those, and may be a mapping by image name, the path of a CSV file with the columns path and
    label, or ``cls`` for .cls files beside the images, as WebDataset has them. Everything else is what `as_images`
    takes.

    >>> import numpy as np
    >>> images, labels = images_and_labels([(np.zeros((8, 8, 3), np.uint8), "owl")])
    >>> images.names, labels
    (('image-000000',), ['owl'])
    """
    found, brought = _taken(images)
    if labels is None:
        return found, None if brought is None else brought()
    if isinstance(labels, str | os.PathLike):
        if not isinstance(found, ImageFiles):
            raise UserError(f"the labels are a file, {str(labels)!r}, but the images are not: give one label per image")
        labels = sidecar_labels(found) if labels == SIDECARS else read_labels(labels, found, note)
    if isinstance(labels, Mapping):
        return found, _by_name(found, labels)
    if _is_table(labels):
        paths, words = (_column(labels, names) for names in (_PATH_COLUMNS, _LABEL_COLUMNS))
        return found, _by_name(found, dict(zip(_cells(labels, paths), _cells(labels, words), strict=True)))
    return found, labels


def only_images(images: Any) -> Images:
    """Images alone; labels that come with them are not looked at."""
    return _taken(images)[0]


def _taken(images: Any) -> tuple[Images, Callable[[], Any] | None]:
    """The images, and what makes their labels where they bring some: that may take a look at every item."""
    if hasattr(images, "tocsr"):
        return as_images(images), None  # which refuses it: some sparse matrices are mappings too
    if _is_hub_dataset(images):
        return _hub_dataset(images)
    if isinstance(images, Mapping):
        return _mapping(images)
    if _is_table(images):
        return _table(images)
    if isinstance(images, list | tuple) and images and all(map(_is_pair, images)):
        return as_images([pair[0] for pair in images]), lambda: [pair[1] for pair in images]
    if is_lazy(images):
        return _lazy(images)
    return as_images(images), None


def _mapping(images: Mapping[Any, Any]) -> tuple[Images, Callable[[], Any]]:
    paths = list(images)
    if not paths:
        raise UserError("no images were given: the mapping is empty")
    if all(_is_hub_dataset(part) for part in images.values()):
        raise UserError(
            f"a data set of several splits was given; pass one of them: {some_of(list(map(str, paths)), 5)}"
        )
    if not all(isinstance(path, str | os.PathLike) for path in paths):
        raise UserError("a mapping of images must be path → label; None or -1 for unlabelled")
    return given_paths(paths), lambda: list(images.values())


def _table(table: Any) -> tuple[Images, Callable[[], Any] | None]:
    """A DataFrame, pandas' or one that is like it."""
    paths = _column(table, _PATH_COLUMNS + _IMAGE_COLUMNS)
    found = as_images(list(_cells(table, paths)))
    label = next((name for name in table.columns if str(name).lower() in _LABEL_COLUMNS), None)
    return found, None if label is None else partial(_cells, table, label)


def _hub_dataset(dataset: Any) -> tuple[Images, Callable[[], Any] | None]:
    """A Hugging Face ``Dataset``: its image column as it stands, decoded when it is asked for."""
    if not hasattr(dataset, "__len__"):
        raise UserError("a streamed data set has no length; pass list(stream.take(n)), or load it whole")
    kinds = {name: type(feature).__name__ for name, feature in dataset.features.items()}
    image = next((name for name, kind in kinds.items() if kind == "Image"), None)
    image = image or next((name for name in kinds if name.lower() in _IMAGE_COLUMNS + _PATH_COLUMNS), None)
    if image is None:
        raise UserError(f"the data set has no image column; it has: {some_of(list(kinds), 8)}")
    label = next((name for name in kinds if name.lower() in _LABEL_COLUMNS), None)
    label = label or next((name for name, kind in kinds.items() if kind == "ClassLabel"), None)
    found = ImageArrays.lazily(dataset, itemgetter(image))
    return found, None if label is None else lambda: list(dataset[label])


def _lazy(source: Any) -> tuple[Images, Callable[[], Any] | None]:
    """A torch ``Dataset`` or any other sequence that makes its items when it is asked."""
    first = source[0]
    if isinstance(first, Mapping) and not {"bytes", "path"} & first.keys():
        image = next((name for name in first if str(name).lower() in _IMAGE_COLUMNS + _PATH_COLUMNS), None)
        if image is None:
            raise UserError(f"the items have no image; they have: {some_of(list(map(str, first)), 8)}")
        label = next((name for name in first if str(name).lower() in _LABEL_COLUMNS), None)
        found = ImageArrays.lazily(source, itemgetter(image))
        return found, None if label is None else lambda: [source[row][label] for row in range(len(source))]
    if _is_pair(first):
        return ImageArrays.lazily(source, itemgetter(0)), lambda: _second_of_pairs(source)
    return as_images(source), None


def _second_of_pairs(source: Any) -> list[Any]:
    """The labels of pairs, without making their images where the data set keeps labels apart."""
    kept = _targets(source)
    return list(kept) if kept is not None else [source[row][1] for row in range(len(source))]


def _targets(source: Any) -> Sequence[Any] | None:
    """What a torch data set keeps of its labels; those of a ``Subset`` are at some places of another's."""
    if hasattr(source, "dataset") and hasattr(source, "indices"):
        whole = _targets(source.dataset)
        return None if whole is None else [whole[int(row)] for row in source.indices]
    if getattr(source, "target_transform", None) is not None:
        return None
    for name in _TARGETS:
        kept = getattr(source, name, None)
        if kept is not None and hasattr(kept, "__getitem__") and len(kept) == len(source):
            return list(kept.tolist() if hasattr(kept, "tolist") else kept)
    return None


def _is_pair(item: Any) -> bool:
    """(image, label), as torch's data sets have it."""
    return isinstance(item, tuple) and len(item) == 2 and not hasattr(item[1], "mode")


def _is_hub_dataset(images: Any) -> bool:
    return hasattr(images, "features") and hasattr(images, "column_names") and isinstance(images.features, Mapping)


def _is_table(images: Any) -> bool:
    return hasattr(images, "columns") and hasattr(images, "__getitem__") and hasattr(images, "shape")


def _column(table: Any, names: Sequence[str]) -> Any:
    found = [name for name in table.columns if str(name).lower() in names]
    if not found:
        raise UserError(f"the table has no column {names[0]!r}; it has: {some_of(list(map(str, table.columns)), 8)}")
    return found[0]


def _cells(table: Any, name: Any) -> list[Any]:
    column = table[name]
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _by_name(images: Images, labels: Mapping[Any, Any]) -> list[Any]:
    """One label per image out of a mapping by name; a name that is no image is a mistake."""
    by_name = {os.fspath(name) if isinstance(name, os.PathLike) else str(name): label for name, label in labels.items()}
    unknown = sorted(by_name.keys() - set(images.names))
    if unknown:
        raise UserError(f"labels for images that are not there: {some_of(unknown, 3)}")
    return [by_name.get(name) for name in images.names]
