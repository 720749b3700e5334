"""Ultralytics YOLO classification: https://docs.ultralytics.com/datasets/classify/"""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from legogcd.export.format import Settings, Written, export_format
from legogcd.export.formats.folders import renamed, sorted_into
from legogcd.export.items import Item, Selection
from legogcd.export.naming import folder_names
from legogcd.export.placing import place
from legogcd.wording import counted


@export_format(
    "yolo-cls",
    "train and val, one folder per category in each",
    defined_at="https://docs.ultralytics.com/datasets/classify/",
    places_images=True,
)
def write_yolo_cls(selection: Selection, out: Path, settings: Settings) -> Written:
    """train/ and val/, the same category folders in both, as class numbers are places in the list of folders."""
    names = folder_names(selection.categories)
    train, val = train_and_val(selection.items, settings.val_share, settings.seed)
    for part in ("train", "val"):
        for name in names.values():
            (out / part / name).mkdir(parents=True)
    files = [*sorted_into(train, out / "train", names), *sorted_into(val, out / "val", names)]
    sizes = Counter(item.category for item in selection.items)
    single = sum(size == 1 for size in sizes.values())
    notes = [f"{counted(len(train), 'image')} to train on, {len(val)} to validate with"]
    if single:
        notes.append(f"{counted(single, 'group')} of one image in train alone: the folder in val is empty")
    placed = place(files, settings.link, settings.progress)
    return Written((*placed.notes, *notes, *renamed(names)), refused=placed.refused)


def train_and_val(items: Sequence[Item], val_share: float, seed: int) -> tuple[list[Item], list[Item]]:
    """Draw ``val_share`` of each category, at least one image of two or more, and leave at least one.

    A category's draw depends on the seed and on its own images only.
    """
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[item.category].append(item)
    train: list[Item] = []
    val: list[Item] = []
    for category, group in groups.items():
        shuffled = sorted(group, key=lambda item: item.name)
        random.Random(f"{seed} {category}".encode("utf-8", "surrogateescape")).shuffle(shuffled)
        n_val = min(max(round(len(group) * val_share), 1), len(group) - 1)
        val += shuffled[:n_val]
        train += shuffled[n_val:]
    return train, val
