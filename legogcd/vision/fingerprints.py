"""Pictures so small that light, scale and compression leave them as they are: what tells copies of one from others."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from legogcd.collection import Images
from legogcd.errors import UnreadableImage
from legogcd.vision.decode import read_rgb
from legogcd.vision.mapped_arrays import large_zeros
from legogcd.vision.views.encode import map_ahead

SIDE = 48


def fingerprints(
    images: Images,
    rows: Sequence[int] | np.ndarray,
    progress: Callable[[int], None] = lambda done: None,
    folder: Path | None = None,
) -> np.ndarray:
    """Each picture squeezed to 48 by 48 gray pixels, uint8 [n, 48, 48]; all 0 where it cannot be read.

    Very many lie in a file in ``folder`` while they are needed.
    """
    found = large_zeros((len(rows), SIDE, SIDE), np.uint8, folder)
    for place, picture in enumerate(map_ahead(lambda row: _fingerprint(images, int(row)), rows, ahead=32)):
        if picture is not None:
            found[place] = picture
        progress(place + 1)
    return found


def _fingerprint(images: Images, row: int) -> np.ndarray | None:
    try:
        picture = Image.fromarray(read_rgb(images.item(row), size_hint=SIDE))
    except UnreadableImage:
        return None
    return np.asarray(picture.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX))
