"""What the page's script needs, as JSON inside the page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from legogcd.clustering.kmeans.points import chunks
from legogcd.report.page.grouped_images import GroupedImages
from legogcd.report.page.layout_map import GRID
from legogcd.report.page.visible_text import visible

CHUNK = 200  # thumbnails that are parsed together, when the first of them comes into sight


def embedded(value: Any) -> Markup:
    """JSON that is safe inside a script element: nothing in it can end the element or open another.

    >>> str(embedded(["</script>", "\\u2028"]))
    '["\\\\u003c/script\\\\u003e","\\\\u2028"]'
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def image_data(images: GroupedImages, points: np.ndarray, unsure: np.ndarray, root: Path | None) -> dict[str, Any]:
    """What the script needs of every image, as columns of whole numbers; ``root`` is where the originals are."""
    second = _second_best(images)
    return {
        "root": "" if root is None else visible(str(root)),
        "originals": "" if root is None else root.as_uri(),
        "altered": [row for row, name in enumerate(images.names) if visible(name) != name],  # no longer paths
        "names": [visible(name) for name in images.names],
        "groups": [visible(name) for name in images.groups],
        "known": images.known.astype(int).tolist(),
        "group": images.group.tolist(),
        "labelled": images.labelled.astype(int).tolist(),
        "predicted": images.predicted.tolist(),
        "confidence": _percents(images.confidence),
        "second": second.tolist(),
        "secondShare": _percents(images.belief[np.arange(len(second)), second].astype(float)),
        "x": points[:, 0].tolist(),
        "y": points[:, 1].tolist(),
        "grid": GRID,
        "unsure": unsure.astype(int).tolist(),
        "chunk": CHUNK,
    }


def _second_best(images: GroupedImages) -> np.ndarray:
    """The group [N] in which the model believes most beside the one it predicts."""
    second = np.empty(len(images.predicted), np.int64)
    for rows in chunks(*images.belief.shape):
        others = images.belief[rows].copy()
        others[np.arange(len(others)), images.predicted[rows]] = -1
        second[rows] = others.argmax(1)
    return second


def picture_chunks(pictures: list[str]) -> list[Markup]:
    """Thumbnails in parts that the script reads one by one."""
    return [embedded(pictures[start : start + CHUNK]) for start in range(0, len(pictures), CHUNK)]


def _percents(shares: np.ndarray) -> list[int]:
    whole: list[int] = np.rint(100 * shares).astype(int).tolist()
    return whole
