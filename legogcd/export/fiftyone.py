"""FiftyOne: https://docs.voxel51.com/user_guide/import_datasets.html#fiftyoneimageclassificationdataset"""

import json
import posixpath
from pathlib import Path
from typing import Any

from legogcd.export.format import Settings, Written
from legogcd.export.naming import below, distinct
from legogcd.export.placing import place
from legogcd.export.records import Item, Selection


def write_fiftyone(selection: Selection, out: Path, settings: Settings) -> Written:
    """data/ and labels.json, where an image is known by its path without the ending."""
    paths = [posixpath.splitext(below(item.name)) for item in selection.items]
    keys = distinct([stem for stem, _ in paths])
    files = [
        (item.file, out / "data" / f"{key}{suffix}")
        for item, key, (_, suffix) in zip(selection.items, keys, paths, strict=True)
    ]
    classes = selection.categories
    targets = {category: number for number, category in enumerate(classes)}
    labels = {key: _label(item, targets[item.category]) for key, item in zip(keys, selection.items, strict=True)}
    content = {"classes": classes, "labels": labels}
    (out / "labels.json").write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return Written(place(files, settings.link, settings.progress))


def _label(item: Item, target: int) -> dict[str, Any]:
    """A settled category has no confidence: the model's is about its own guess."""
    confidence = {} if item.settled else {"confidence": item.confidence}
    return {"label": target, **confidence, "attributes": {"status": item.status, "predicted": item.predicted}}
