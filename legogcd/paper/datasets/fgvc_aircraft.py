"""FGVC-Aircraft by variant: text files of image id and variant; train is the official trainval."""

from pathlib import Path

import numpy as np

from legogcd.collection import ImageFiles
from legogcd.errors import UserError
from legogcd.paper.datasets.dataset import DatasetSplit, Fault, SplitName
from legogcd.paper.datasets.disk import file_names, numbered_lines, require

N_CLASSES = 100
_FILES: dict[SplitName, str] = {
    "train": "data/images_variant_trainval.txt",
    "test": "data/images_variant_test.txt",
}


def read_fgvc_aircraft(home: Path, split: SplitName, fault: Fault) -> DatasetSplit:
    require(home, (_FILES["train"], _FILES[split], "data/images"), fault)
    variants = _variants(home / _FILES["train"], fault)
    ids_by_name = {name: i for i, name in enumerate(variants)}
    present = set(file_names(home / "data/images"))
    path = home / _FILES[split]
    names, ids = [], []
    for line, image, variant in _rows(path, fault):
        file = f"{image}.jpg"
        if variant not in ids_by_name:
            fault(f"{str(path)!r} line {line}: variant {variant!r} is not in {_FILES['train']}")
        elif file not in present:
            fault(f"{str(home / 'data/images' / file)!r} is missing; line {line} of {_FILES[split]} names it")
        else:
            names.append(f"data/images/{file}")
            ids.append(ids_by_name[variant])
    return DatasetSplit(ImageFiles(home, tuple(names)), np.array(ids, dtype=np.int64), variants)


def _variants(path: Path, fault: Fault) -> tuple[str, ...]:
    variants = tuple(sorted({variant for _, _, variant in _rows(path, fault)}))
    if len(variants) != N_CLASSES:
        raise UserError(f"{str(path)!r} names {len(variants)} variants; expected {N_CLASSES}")
    return variants


def _rows(path: Path, fault: Fault) -> list[tuple[int, str, str]]:
    """(line number, image id, variant); a variant may hold spaces."""
    rows = []
    for line, text in numbered_lines(path):
        image, _, variant = text.partition(" ")
        if not variant or not image.isdecimal():
            fault(f"{str(path)!r} line {line}: {text[:80]!r}; expected an image number, a space and a variant")
        else:
            rows.append((line, image, variant.strip()))
    return rows
