"""FiftyOne: https://docs.voxel51.com/user_guide/import_datasets.html#fiftyoneimageclassificationdataset"""

import posixpath
from pathlib import Path
from typing import Any

from legogcd.export.format import Settings, Written, export_format
from legogcd.export.items import Item, Selection, categories_of
from legogcd.export.json_text import json_bytes
from legogcd.export.naming import below, distinct
from legogcd.export.placing import place


@export_format(
    "fiftyone",
    "a FiftyOneImageClassificationDataset",
    defined_at="https://docs.voxel51.com/user_guide/import_datasets.html#fiftyoneimageclassificationdataset",
    places_images=True,
)
def write_fiftyone(selection: Selection, out: Path, settings: Settings) -> Written:
    """data/ and labels.json, where an image is known by its path without the ending."""
    paths = [posixpath.splitext(below(item.name)) for item in selection.items]
    keys = distinct([stem for stem, _ in paths])
    files = [
        (item, out / "data" / f"{key}{suffix}")
        for item, key, (_, suffix) in zip(selection.items, keys, paths, strict=True)
    ]
    placed = place(files, settings.link, settings.progress)
    kept = {key: item for key, item in zip(keys, selection.items, strict=True) if item.name not in placed.refused}
    classes = categories_of(list(kept.values()))
    targets = {category: number for number, category in enumerate(classes)}
    labels = {key: _label(item, targets[item.category]) for key, item in kept.items()}
    (out / "labels.json").write_bytes(json_bytes({"classes": classes, "labels": labels}, indent=1))
    return Written(tuple(placed.notes), refused=placed.refused)


def _label(item: Item, target: int) -> dict[str, Any]:
    """A settled category has no confidence: the model's is about its own guess."""
    confidence = {} if item.settled else {"confidence": item.confidence}
    return {"label": target, **confidence, "attributes": {"status": item.status, "predicted": item.predicted}}
