"""Hugging Face `datasets`, an imagefolder with metadata: https://huggingface.co/docs/datasets/image_dataset

Two choices are the loader's habits: it takes folders and, where no folder says it, files called like a split (test,
val, …) for that split, so all images stand side by side in train/; and it guesses the type of a CSV column piece by
piece, so that a class "007" or "NA" would not stay text, while metadata.jsonl keeps it. It reads UTF-8 alone:
names with other bytes are written as in the run's own tables.
"""

from pathlib import Path, PurePosixPath

from legogcd.csv_text import escape_name
from legogcd.export.format import Settings, Written, export_format
from legogcd.export.items import Item, Selection
from legogcd.export.json_text import json_bytes
from legogcd.export.naming import below, distinct
from legogcd.export.placing import place


@export_format(
    "hf-dataset",
    "an imagefolder of the `datasets` library",
    defined_at="https://huggingface.co/docs/datasets/image_dataset",
    places_images=True,
)
def write_hf_dataset(selection: Selection, out: Path, settings: Settings) -> Written:
    """train/ with the images and metadata.jsonl: file_name, label and what else is known of each."""
    folder = out / "train"
    folder.mkdir()
    names = distinct([PurePosixPath(below(item.name)).name for item in selection.items], before_suffix=True)
    files = [(item, folder / name) for item, name in zip(selection.items, names, strict=True)]
    placed = place(files, settings.link, settings.progress)
    with open(folder / "metadata.jsonl", "wb") as file:
        for item, target in files:
            if item.name not in placed.refused:
                file.write(json_bytes(_row(item, target.name)))
    return Written(tuple(placed.notes), refused=placed.refused)


def _row(item: Item, file_name: str) -> dict[str, str | float]:
    return {
        "file_name": file_name,
        "label": escape_name(item.category),
        "status": item.status,
        "confidence": item.confidence,
        "predicted": escape_name(item.predicted),
        "path": escape_name(item.name),
    }
