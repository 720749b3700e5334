"""Hugging Face `datasets`, an imagefolder with metadata: https://huggingface.co/docs/datasets/image_dataset

Two choices are the loader's habits: it takes folders and, where no folder says it, files called like a split (test,
val, …) for that split, so all images stand side by side in train/; and it guesses the type of a CSV column piece by
piece, so that a class "007" or "NA" would not stay text, while metadata.jsonl keeps it.
"""

import json
from pathlib import Path, PurePosixPath

from legogcd.export.format import Settings, Written
from legogcd.export.naming import below, distinct
from legogcd.export.placing import place
from legogcd.export.records import Selection


def write_hf_dataset(selection: Selection, out: Path, settings: Settings) -> Written:
    """train/ with the images and metadata.jsonl: file_name, label and what else is known of each."""
    folder = out / "train"
    folder.mkdir()
    names = distinct([PurePosixPath(below(item.name)).name for item in selection.items], before_suffix=True)
    with open(folder / "metadata.jsonl", "w", encoding="utf-8", newline="\n") as file:
        for item, name in zip(selection.items, names, strict=True):
            row = {
                "file_name": name,
                "label": item.category,
                "status": item.status,
                "confidence": item.confidence,
                "predicted": item.predicted,
                "path": item.name,
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    files = [(item.file, folder / name) for item, name in zip(selection.items, names, strict=True)]
    return Written(place(files, settings.link, settings.progress))
