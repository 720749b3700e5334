"""Files to pixels: whatever a folder holds, as 8-bit RGB, or one short reason why not."""

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.ImageFile import ImageFile
from PIL.Jpeg2KImagePlugin import Jpeg2KImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.PpmImagePlugin import PpmImageFile
from PIL.TiffImagePlugin import TiffImageFile
from PIL.WebPImagePlugin import WebPImageFile
from torch.nn import functional

from legogcd.collection import eight_bit, over_white

_DECODERS: list[type[ImageFile]] = [
    JpegImageFile,
    PngImageFile,
    GifImageFile,
    BmpImageFile,
    TiffImageFile,
    WebPImageFile,
    PpmImageFile,
    Jpeg2KImageFile,
]
with suppress(ImportError):  # Pillow has it from 11.3 on
    from PIL.AvifImagePlugin import AvifImageFile

    _DECODERS.append(AvifImageFile)

MAX_PIXELS = 256_000_000
"""Largest image that is decoded: about 1 GB while it is read. A JPEG's size counts after its reduced decoding."""

MAX_ASPECT = 16
"""Longer images lose their ends: resizing the shorter side would make the longer one explode."""

_LARGE = 64_000_000  # below Pillow's own limit, above any usual photo
_HEADROOM = 2  # reduced images keep twice the wanted size, so that the last, bicubic step still decides the quality
_ORIENTATION_TAG = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_large_image = threading.Lock()


class UnreadableImage(Exception):  # noqa: N818 - it names the image's state, and callers count it
    """The image cannot be used; ``reason`` says why in a short phrase."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_rgb(item: Path | NDArray[np.uint8], size_hint: int | None = None) -> NDArray[np.uint8]:
    """Read one image of a collection as uint8 [H, W, 3], upright, on white where it is transparent.

    ``size_hint`` is the shorter side that will be needed: much larger files are decoded at a fraction of their size,
    never below twice the hint. Of an animation the first frame is taken; 16-bit and floating images are scaled to
    8 bits. Raises ``UnreadableImage``. Safe to call from several threads.

    >>> read_rgb(np.zeros((4, 100, 3), np.uint8)).shape  # longer than 16 : 1
    (4, 64, 3)
    """
    if isinstance(item, np.ndarray):
        return _without_ends(item)
    try:
        return _without_ends(_read_file(item, size_hint))
    except UnreadableImage:
        raise
    except FileNotFoundError:
        raise UnreadableImage("file not found") from None
    except PermissionError:
        raise UnreadableImage("permission denied") from None
    except (MemoryError, Image.DecompressionBombError):
        raise UnreadableImage("too large") from None
    except Exception as error:  # decoders raise nearly everything on damaged data
        raise UnreadableImage("truncated" if "truncated" in str(error).lower() else "damaged") from error


def resize_shorter(image: NDArray[np.uint8] | Image.Image, size: int) -> NDArray[np.uint8]:
    """Resize so that the shorter side is ``size`` and the longer ``int(size · longer / shorter)``; uint8 [h, w, 3].

    Bicubic, and antialiased where the image shrinks: Pillow's kernel, by PyTorch's several times faster vector code.

    >>> resize_shorter(np.zeros((50, 99, 3), np.uint8), 25).shape
    (25, 49, 3)
    """
    pixels = np.array(_rgb(image) if isinstance(image, Image.Image) else image)
    height, width = pixels.shape[:2]
    longer = int(size * max(width, height) / min(width, height))
    target = (longer, size) if width <= height else (size, longer)
    if target == (height, width):
        return pixels
    channels_first = torch.from_numpy(pixels).permute(2, 0, 1)[None]
    resized = functional.interpolate(channels_first, target, mode="bicubic", antialias=True)
    return np.ascontiguousarray(resized[0].permute(1, 2, 0).numpy())


def _read_file(path: Path, size_hint: int | None) -> NDArray[np.uint8]:
    status = os.stat(path)  # noqa: PTH116 - takes strings too
    if stat.S_ISDIR(status.st_mode):
        raise UnreadableImage("is a folder")
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait forever
        raise UnreadableImage("not a regular file")
    if status.st_size == 0:
        raise UnreadableImage("empty file")
    with open(path, "rb") as file, _decoder(file) as image:
        if size_hint is not None:
            image.draft(None, (_HEADROOM * size_hint, _HEADROOM * size_hint))  # only JPEG knows how
        pixels = image.width * image.height
        if pixels > MAX_PIXELS:
            raise UnreadableImage(f"too large ({pixels / 1e6:.0f} megapixels)")
        with _one_at_a_time() if pixels > _LARGE else nullcontext():
            return _decode(image, size_hint)


def _decoder(file: BinaryIO) -> ImageFile:
    """The file as an image that is not decoded yet; apart from ``Image.open`` so that our pixel limit holds."""
    for decoder in _DECODERS:
        file.seek(0)
        with suppress(SyntaxError):  # how Pillow says that a header is another format's
            return decoder(file)
    raise UnreadableImage("not an image")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Hold one large image in memory at a time; Pillow's pixel limit gives way to ours for so long."""
    with _large_image:
        limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS = limit


def _decode(image: Image.Image, size_hint: int | None) -> NDArray[np.uint8]:
    image.load()
    turn = _orientation(image)
    image = _eight_bit_mode(image)
    if size_hint is not None:
        factor = min(image.size) // (_HEADROOM * size_hint)
        if factor > 1:
            image = image.reduce(factor)
    if turn is not None:
        image = image.transpose(turn)
    return over_white(np.asarray(image)) if image.mode == "RGBA" else np.array(_rgb(image))


def _orientation(image: Image.Image) -> Image.Transpose | None:
    """How to turn the image upright, asked after loading because TIFF files turn themselves."""
    with suppress(Exception):  # broken EXIF data is no reason to lose the picture
        return _UPRIGHT.get(image.getexif().get(_ORIENTATION_TAG, 1))
    return None


def _eight_bit_mode(image: Image.Image) -> Image.Image:
    """The image as L, RGB or RGBA."""
    if image.mode[0] in "IF":
        return Image.fromarray(eight_bit(np.asarray(image)))
    if image.has_transparency_data:
        return image if image.mode == "RGBA" else image.convert("RGBA")
    return image if image.mode in ("L", "RGB") else image.convert("L" if image.mode == "1" else "RGB")


def _rgb(image: Image.Image) -> Image.Image:
    return image if image.mode == "RGB" else image.convert("RGB")  # which copies even where there is nothing to do


def _without_ends(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Crop an image longer than 16 : 1 to its middle."""
    height, width = pixels.shape[:2]
    longest = MAX_ASPECT * min(height, width)
    if max(height, width) <= longest:
        return pixels
    top, left = max(0, (height - longest) // 2), max(0, (width - longest) // 2)
    return np.ascontiguousarray(pixels[top : top + longest, left : left + longest])
