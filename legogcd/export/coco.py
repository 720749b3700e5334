"""COCO JSON: https://cocodataset.org/#format-data

The format knows objects, not whole images: each image gets one annotation whose box and outline are the full image.
"""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

from legogcd.export.format import Settings, Written
from legogcd.export.records import Item, Selection


def write_coco(selection: Selection, out: Path, settings: Settings) -> Written:
    """annotations.json, with file names relative to the image folder; sizes are those stored, before EXIF rotation."""
    found = {item.category for item in selection.items if item.status != "novel"}
    numbers = {category: number for number, category in enumerate(selection.categories, 1)}
    categories = [
        {"id": number, "name": category, "supercategory": "known" if category in found else "novel"}
        for category, number in numbers.items()
    ]
    images, annotations, unreadable = [], [], []
    with _only_headers():
        for done, item in enumerate(selection.items, 1):
            size = _stored_size(item.file)
            if size is None:
                unreadable.append(item.name)
            else:
                images.append({"id": done, "file_name": item.name, "width": size[0], "height": size[1]})
                annotations.append(_annotation(done, item, numbers[item.category], *size))
            settings.progress(done, len(selection.items))
    info = {"description": selection.model, "version": "1.0"}
    content = {"info": info, "licenses": [], "images": images, "annotations": annotations, "categories": categories}
    (out / "annotations.json").write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")
    return Written((f"file names are relative to {selection.root}",), tuple(unreadable))


def _annotation(number: int, item: Item, category: int, width: int, height: int) -> dict[str, Any]:
    """``score`` stands where the category is a guess, as in COCO's results."""
    score = {} if item.settled else {"score": item.confidence}
    return {
        "id": number,
        "image_id": number,
        "category_id": category,
        "bbox": [0, 0, width, height],
        "area": width * height,
        "segmentation": [[0, 0, width, 0, width, height, 0, height]],
        "iscrowd": 0,
        **score,
    }


def _stored_size(file: Path) -> tuple[int, int] | None:
    """Width and height from the header alone; None for what is no image."""
    try:
        with Image.open(file) as image:
            return image.size
    except Exception:  # decoders raise nearly everything on damaged data
        return None


@contextmanager
def _only_headers() -> Iterator[None]:
    """No pixel is decoded in here: Pillow's limit on their number and its warnings about them can rest."""
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = limit
