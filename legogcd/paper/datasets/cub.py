"""CUB-200-2011: text files of image ids, classes and the official split; rows in the order of images.txt."""

from pathlib import Path

import numpy as np

from legogcd.collection import ImageFiles
from legogcd.paper.datasets.dataset import DatasetSplit, Fault, SplitName
from legogcd.paper.datasets.disk import file_names, numbered_lines, require, sub_folders, whole_number

N_CLASSES = 200
_IMAGES, _CLASSES, _TRAINING = "images.txt", "image_class_labels.txt", "train_test_split.txt"


def read_cub(home: Path, split: SplitName, fault: Fault) -> DatasetSplit:
    require(home, (_IMAGES, _CLASSES, _TRAINING, "images"), fault)
    paths = _column(home / _IMAGES, fault)
    classes = _numbers(home / _CLASSES, range(1, N_CLASSES + 1), fault)
    training = _numbers(home / _TRAINING, range(2), fault)
    folder = home / "images"
    present = {f"{bird}/{name}" for bird in sub_folders(folder) for name in file_names(folder / bird)}
    wanted = 1 if split == "train" else 0
    names, ids = [], []
    for image, path in paths.items():
        for table, file in ((classes, _CLASSES), (training, _TRAINING)):
            if image not in table:
                fault(f"image {image} of {_IMAGES} has no usable line in {str(home / file)!r}")
        if image not in classes or training.get(image) != wanted:
            continue
        if path not in present:
            fault(f"{str(folder / path)!r} is missing; {_IMAGES} names it")
            continue
        names.append(f"images/{path}")
        ids.append(classes[image] - 1)
    return DatasetSplit(ImageFiles(home, tuple(names)), np.array(ids, dtype=np.int64), _class_names(paths, classes))


def _class_names(paths: dict[int, str], classes: dict[int, int]) -> tuple[str, ...]:
    """The folder of each class, such as 001.Black_footed_Albatross."""
    folders = {classes[image]: path.split("/", 1)[0] for image, path in paths.items() if image in classes}
    return tuple(folders.get(number, f"class-{number:03d}") for number in range(1, N_CLASSES + 1))


def _column(path: Path, fault: Fault) -> dict[int, str]:
    """Text by image id, in file order."""
    column: dict[int, str] = {}
    for line, text in numbered_lines(path):
        first, _, rest = text.partition(" ")
        image = whole_number(first)
        if image is None or not rest:
            fault(f"{str(path)!r} line {line}: {text[:80]!r}; expected an image id, a space and its value")
        elif image in column:
            fault(f"{str(path)!r} line {line}: image {image} was there before")
        else:
            column[image] = rest.strip()
    return column


def _numbers(path: Path, allowed: range, fault: Fault) -> dict[int, int]:
    numbers: dict[int, int] = {}
    for image, text in _column(path, fault).items():
        number = whole_number(text)
        if number is None or number not in allowed:
            fault(f"{str(path)!r}: image {image} has {text[:40]!r}; expected {allowed.start} to {allowed.stop - 1}")
        else:
            numbers[image] = number
    return numbers
