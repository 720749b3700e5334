"""Stanford Cars: MATLAB annotations of the devkit; rows in annotation order."""

from pathlib import Path
from typing import Any

import numpy as np

from legogcd.collection import ImageFiles
from legogcd.errors import UserError
from legogcd.paper.datasets.dataset import DatasetSplit, Fault, SplitName
from legogcd.paper.datasets.disk import file_names, require

N_CLASSES = 196
_FOLDERS: dict[SplitName, str] = {"train": "cars_train", "test": "cars_test"}
_TRAIN = "devkit/cars_train_annos.mat"
_TEST = ("devkit/cars_test_annos_withlabels.mat", "cars_test_annos_withlabels.mat")  # the official site has it apart
_NAMES = "devkit/cars_meta.mat"


def read_stanford_cars(home: Path, split: SplitName, fault: Fault) -> DatasetSplit:
    file = _TRAIN if split == "train" else next((name for name in _TEST if (home / name).exists()), _TEST[0])
    folder = _FOLDERS[split]
    require(home, (file, folder), fault)
    present = set(file_names(home / folder))
    names, ids = [], []
    for row, annotation in enumerate(_annotations(home / file), 1):
        name, label = str(annotation["fname"]), _class(annotation["class"])
        if label is None:
            fault(f"{str(home / file)!r} row {row}: class {annotation['class']}; expected 1 to {N_CLASSES}")
        elif name not in present:
            fault(f"{str(home / folder / name)!r} is missing; row {row} of {file} names it")
        else:
            names.append(f"{folder}/{name}")
            ids.append(label - 1)
    return DatasetSplit(ImageFiles(home, tuple(names)), np.array(ids, dtype=np.int64), _class_names(home))


def _annotations(path: Path) -> Any:
    rows = np.atleast_1d(_variable(path, "annotations"))
    lacking = [name for name in ("class", "fname") if name not in (rows.dtype.names or ())]
    if lacking:
        hint = "; the test set's classes are in cars_test_annos_withlabels.mat" if lacking == ["class"] else ""
        raise UserError(f"the annotations in {str(path)!r} have no field {lacking[0]!r}{hint}")
    return rows


def _class(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number == value and 1 <= number <= N_CLASSES else None


def _class_names(home: Path) -> tuple[str, ...]:
    """Make, model and year where the devkit tells them: the protocol does not need them."""
    if not (home / _NAMES).exists():
        return tuple(f"car-{number:03d}" for number in range(1, N_CLASSES + 1))
    names = tuple(str(name) for name in np.atleast_1d(_variable(home / _NAMES, "class_names")))
    if len(names) != N_CLASSES:
        raise UserError(f"{str(home / _NAMES)!r} names {len(names)} classes; expected {N_CLASSES}")
    return names


def _variable(path: Path, name: str) -> Any:
    from scipy.io import loadmat

    try:
        content = loadmat(path, squeeze_me=True, appendmat=False)
    except FileNotFoundError:
        raise UserError(f"{str(path)!r} is missing") from None
    except Exception as error:  # a damaged file shows itself in many ways
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{str(path)!r} cannot be read as a MATLAB file ({reason}); is it damaged?") from None
    if name not in content:
        raise UserError(f"{str(path)!r} holds no {name!r}; expected the file of the official devkit")
    return content[name]
