"""COCO JSON: https://cocodataset.org/#format-data

The format knows objects, not whole images: each image gets one annotation whose box and outline are the full image.
"""

from pathlib import Path
from typing import Any

from legogcd.export.format import Settings, Written, export_format
from legogcd.export.items import Item, Selection
from legogcd.export.json_text import json_bytes
from legogcd.wording import printable


@export_format(
    "coco",
    "COCO JSON, one full-image box per image",
    defined_at="https://cocodataset.org/#format-data",
    single_file="annotations.json",
)
def write_coco(selection: Selection, out: Path, settings: Settings) -> Written:
    """annotations.json, with file names relative to the image folder; sizes are those stored, before EXIF rotation."""
    from legogcd.export.image_headers import only_headers, stored_size  # waits, as Pillow does

    found = {item.category for item in selection.items if item.status != "novel"}
    numbers = {category: number for number, category in enumerate(selection.categories, 1)}
    categories = [
        {"id": number, "name": category, "supercategory": "known" if category in found else "novel"}
        for category, number in numbers.items()
    ]
    images, annotations, unreadable = [], [], []
    with only_headers():
        for done, item in enumerate(selection.items, 1):
            size = stored_size(item.file)
            if size is None:
                unreadable.append(item.name)
            else:
                images.append({"id": done, "file_name": item.name, "width": size[0], "height": size[1]})
                annotations.append(_annotation(done, item, numbers[item.category], *size))
            settings.progress(done, len(selection.items))
    info = {"description": selection.model, "version": "1.0"}
    content = {"info": info, "licenses": [], "images": images, "annotations": annotations, "categories": categories}
    (out / "annotations.json").write_bytes(json_bytes(content))
    return Written((f"file names are relative to {printable(str(selection.root))}",), tuple(unreadable))


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
