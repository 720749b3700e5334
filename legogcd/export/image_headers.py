"""What a file says of itself in its first bytes: whether it is an image, and its size; no pixel is decoded."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from PIL import Image

_FORMATS = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "JPEG2000", "AVIF")


def stored_size(file: Path) -> tuple[int, int] | None:
    """Width and height as stored, before EXIF rotation; None for what is gone, unreadable or no image."""
    try:
        if not (file.is_file() and os.access(file, os.R_OK)):
            return None
        with Image.open(file, formats=_known_formats()) as image:
            return image.size
    except Exception:  # decoders raise nearly everything on damaged data
        return None


@cache
def _known_formats() -> tuple[str, ...]:
    """Those that this Pillow reads."""
    Image.init()
    return tuple(name for name in _FORMATS if name in Image.OPEN)


@contextmanager
def only_headers() -> Iterator[None]:
    """No pixel is decoded in here: Pillow's limit on their number and its warnings about them can rest."""
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = limit
