"""CIFAR-10 and CIFAR-100 from the official binary archives, packed or unpacked; CIFAR-10 also from PNG sheets."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from legogcd.collection import ImageArrays
from legogcd.paper.datasets.cifar_sheets import find_sheets, read_sheets
from legogcd.paper.datasets.dataset import DatasetSplit, Fault, SplitName
from legogcd.paper.datasets.disk import read_files

CIFAR10_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_FINE_NAMES = "fine_label_names.txt"
_PIXELS = 3 * 32 * 32


@dataclass(frozen=True)
class _Batches:
    """Files of records: ``label_bytes`` bytes, the last of which is the class, then red, green and blue planes."""

    train: tuple[str, ...]
    test: tuple[str, ...]
    archive: str
    label_bytes: int
    n_classes: int

    def source(self, home: Path) -> Path | None:
        """The folder of the batches, or the archive that holds them."""
        if any((home / name).exists() for name in (*self.train, *self.test)):
            return home
        return home / self.archive if (home / self.archive).exists() else None

    def files(self, split: SplitName) -> tuple[str, ...]:
        return self.train if split == "train" else self.test


_CIFAR10 = _Batches(
    tuple(f"data_batch_{i}.bin" for i in range(1, 6)), ("test_batch.bin",), "cifar-10-binary.tar.gz", 1, 10
)
_CIFAR100 = _Batches(("train.bin",), ("test.bin",), "cifar-100-binary.tar.gz", 2, 100)


def read_cifar10(home: Path, split: SplitName, fault: Fault) -> DatasetSplit:
    source = _CIFAR10.source(home)
    if source is None:
        pixels, classes = read_sheets(find_sheets(home), split, len(CIFAR10_NAMES), fault)
    else:
        contents = read_files(source, _CIFAR10.files(split), fault)
        pixels, classes = _records(_CIFAR10, contents, fault)
    return _split(pixels, classes, CIFAR10_NAMES, split)


def read_cifar100(home: Path, split: SplitName, fault: Fault) -> DatasetSplit:
    files = _CIFAR100.files(split)
    contents = read_files(_CIFAR100.source(home) or home, (*files, _FINE_NAMES), fault)
    names = tuple(contents.pop(_FINE_NAMES, b"").decode("utf-8", "replace").split())
    if len(set(names)) != _CIFAR100.n_classes:
        fault(f"{_FINE_NAMES} names {len(set(names))} classes; expected {_CIFAR100.n_classes}")
        names = tuple(f"class-{i:02d}" for i in range(_CIFAR100.n_classes))
    pixels, classes = _records(_CIFAR100, contents, fault)
    return _split(pixels, classes, names, split)


def _records(layout: _Batches, contents: dict[str, bytes], fault: Fault) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pixels [N, 32, 32, 3] and classes [N] of all records, file after file."""
    width = layout.label_bytes + _PIXELS
    pixels, classes = [np.empty((0, 3, 32, 32), np.uint8)], [np.empty(0, np.int64)]
    for name, content in contents.items():
        count, rest = divmod(len(content), width)
        if rest or not count:
            fault(f"{name} has {len(content)} bytes, not a whole number of {width}-byte records; is it truncated?")
        records = np.frombuffer(content, np.uint8, count * width).reshape(count, width)
        labels = records[:, layout.label_bytes - 1].astype(np.int64)
        usable = labels < layout.n_classes
        for row in np.flatnonzero(~usable):
            fault(f"{name} record {row + 1}: class {labels[row]}; expected 0 to {layout.n_classes - 1}")
        pixels.append(records[usable, layout.label_bytes :].reshape(-1, 3, 32, 32))
        classes.append(labels[usable])
    return np.concatenate(pixels).transpose(0, 2, 3, 1), np.concatenate(classes)


def _split(
    pixels: NDArray[np.uint8], classes: NDArray[np.int64], names: tuple[str, ...], split: SplitName
) -> DatasetSplit:
    rows = range(len(pixels))
    images = ImageArrays(pixels, tuple(f"{split}-{row:05d}" for row in rows), tuple(rows))
    return DatasetSplit(images, classes, names)
