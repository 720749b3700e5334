"""Camera raw files: the picture a camera puts into each of them, or one developed at half size.

Read with rawpy where it is installed. A raw file of 50 megapixels takes 400 MB to develop in full; nobody looks at
more than a few hundred pixels of it here.
"""

import io
from typing import Any, BinaryIO

import numpy as np
from PIL import Image

from legogcd.collection.folder_search import NO_RAW_READER
from legogcd.errors import UnreadableImage
from legogcd.wording import library_error

MOST_PIXELS = 120_000_000
"""Largest sensor that is developed: LibRaw takes about eight bytes for each of its pixels."""

_LEAST_SIDE = 448  # of an embedded picture that is used: twice what a backbone sees of it


def raw_preview(file: BinaryIO) -> bytes:
    """The camera's own picture out of a raw file, as the bytes of a JPEG or BMP file, upright as the camera says."""
    try:
        import rawpy
    except ImportError:
        raise UnreadableImage(NO_RAW_READER) from None
    try:
        with rawpy.imread(file) as raw:
            if raw.sizes.raw_width * raw.sizes.raw_height > MOST_PIXELS:
                raise UnreadableImage(f"too large (limit {MOST_PIXELS / 1e6:.0f} megapixels)")
            return _embedded(raw) or _developed(raw.postprocess(half_size=True, use_camera_wb=True))
    except rawpy.LibRawError as error:
        raise UnreadableImage(f"damaged ({library_error(error, 60)})") from None


def _embedded(raw: Any) -> bytes:
    """The JPEG a camera put beside the raw data, where it is large enough; nothing otherwise."""
    import rawpy

    try:
        thumb = raw.extract_thumb()
    except (rawpy.LibRawNoThumbnailError, rawpy.LibRawUnsupportedThumbnailError):
        return b""
    if thumb.format != rawpy.ThumbFormat.JPEG:
        return b""
    with Image.open(io.BytesIO(thumb.data), formats=["JPEG"]) as picture:
        large = min(picture.size) >= _LEAST_SIDE
    return bytes(thumb.data) if large else b""


def _developed(pixels: np.ndarray) -> bytes:
    """Pixels as a file, so that what follows is what follows for every other image; BMP loses nothing."""
    packed = io.BytesIO()
    Image.fromarray(pixels).save(packed, format="BMP")
    return packed.getvalue()
