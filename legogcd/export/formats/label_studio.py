"""Label Studio: tasks to import, with what is settled as annotations and the rest as predictions to look through.

Task format: https://labelstud.io/guide/task_format; predictions: https://labelstud.io/guide/predictions;
files served from the same machine: https://labelstud.io/guide/storage#Local-storage
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from legogcd.csv_text import escape_name
from legogcd.errors import UserError
from legogcd.export.format import Settings, Written, export_format
from legogcd.export.items import Item, Selection
from legogcd.export.json_text import json_bytes
from legogcd.wording import printable

_IMAGE, _CHOICES = "image", "category"  # the names of the two tags that results refer to
_NOT_IN_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@export_format(
    "label-studio",
    "tasks with predictions and annotations, and the labeling interface",
    defined_at="https://labelstud.io/guide/task_format",
    takes_urls=True,
)
def write_label_studio(selection: Selection, out: Path, settings: Settings) -> Written:
    """tasks.json, and labeling-interface.xml for the project's settings."""
    base = _common_folder(selection)
    prefix = settings.url_prefix
    notes = []
    if prefix is None:
        prefix = f"/data/local-files/?d={_quoted(base.name)}/"
        root, folder = printable(str(base.parent)), printable(str(base))
        notes.append(
            "start Label Studio with LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true "
            f"LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT={root} and add {folder} as local storage of the project"
        )
    tasks, refused = [], {}
    for done, item in enumerate(selection.items, 1):
        if _NOT_IN_XML.search(item.category):
            refused[item.name] = f"{item.name!r}: the labeling interface cannot hold its category {item.category!r}"
        else:
            tasks.append(_task(item, _url(prefix, item.file.relative_to(base).as_posix()), selection.model))
        settings.progress(done, len(selection.items))
    (out / "tasks.json").write_bytes(json_bytes(tasks, indent=1))
    choices = [category for category in selection.names if not _NOT_IN_XML.search(category)]
    (out / "labeling-interface.xml").write_bytes(_interface(choices).encode())
    return Written(tuple(notes), refused=refused)


def _task(item: Item, url: str, model: str) -> dict[str, Any]:
    choice = {"from_name": _CHOICES, "to_name": _IMAGE, "type": "choices", "value": {"choices": [item.category]}}
    data = {"image": url, "path": escape_name(item.name), "status": item.status, "confidence": item.confidence}
    if item.settled:
        return {"data": data, "annotations": [{"result": [choice]}]}
    return {"data": data, "predictions": [{"model_version": model, "score": item.confidence, "result": [choice]}]}


def _interface(categories: Sequence[str]) -> str:
    view = ElementTree.Element("View")
    ElementTree.SubElement(view, "Image", name=_IMAGE, value="$image")
    choices = ElementTree.SubElement(view, "Choices", name=_CHOICES, toName=_IMAGE, choice="single", showInline="true")
    for category in categories:
        ElementTree.SubElement(choices, "Choice", value=category)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def _url(prefix: str, path: str) -> str:
    """Web addresses are percent-encoded; those of a storage, like s3://bucket/photos, hold the key as it is."""
    is_web = prefix.startswith(("/", "http://", "https://"))
    joint = "" if prefix.endswith(("/", "=")) else "/"
    return prefix + joint + (_quoted(path) if is_web else path)


def _quoted(path: str) -> str:
    """Percent-encoded; bytes that are not UTF-8 are as good as any."""
    return quote(path, errors="surrogateescape")


def _common_folder(selection: Selection) -> Path:
    """The folder of the images, or the one above all of them where some have paths of their own."""
    root = selection.root
    if root is not None and all(item.file.is_relative_to(root) for item in selection.items):
        return root
    try:
        return Path(os.path.commonpath([item.file.parent for item in selection.items]))
    except ValueError:
        raise UserError(
            "the images have no folder in common; Label Studio can serve files of one folder only"
        ) from None
