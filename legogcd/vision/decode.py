"""Files to pixels: whatever a folder holds, as 8-bit RGB, or one short reason why not."""

import errno
import io
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np
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

from legogcd.collection import over_white
from legogcd.collection.folder_search import is_raw_name
from legogcd.collection.images import Item
from legogcd.collection.pixels import eight_bit_rule
from legogcd.errors import UnreadableImage
from legogcd.vision.camera_raw import raw_preview
from legogcd.vision.decoding_cost import cost_of_decoding, cost_of_opening, count_scans, stored_bytes
from legogcd.wording import human_bytes


class _FirstPageTiff(TiffImageFile):
    """Pillow would read all of a TIFF's directories and turn the picture in place: twice its memory."""

    def load_end(self) -> None:
        self._size = self.im.size  # which Pillow gives as it will be once turned


_DECODERS: list[type[ImageFile]] = [
    JpegImageFile,
    PngImageFile,
    GifImageFile,
    BmpImageFile,
    _FirstPageTiff,
    WebPImageFile,
    PpmImageFile,
    Jpeg2KImageFile,
]
with suppress(ImportError):  # Pillow has it from 11.3 on
    from PIL.AvifImagePlugin import AvifImageFile

    _DECODERS.append(AvifImageFile)
with suppress(ImportError):  # there is no wheel of it for some machines
    from pillow_heif import HeifImageFile

    _DECODERS.append(HeifImageFile)

MAX_PIXELS = 256_000_000
"""Largest image that is decoded, in every format."""

MAX_SIDE_RATIO = 1000
"""Longest image that is decoded: its longer side in shorter sides."""

MAX_BYTES = 1_000_000_000
"""Most memory one image may cost while it is read; what a format needs per pixel decides which limit comes first."""

MAX_SCANS = 100
"""Most passes a JPEG may make over its picture; usual files have ten or fewer."""

MAX_ASPECT = 16
"""Longer images lose their ends: resizing the shorter side would make the longer one explode."""

_LARGE = 256_000_000  # bytes: images that cost more are decoded one at a time
_WORKING_SPACE = 60_000_000  # bytes: what a strip takes in all its forms, and a decoder's own tables
_STRIP = 1 << 20  # pixels: conversions go over an image in strips, so that their own needs stay small
_HEADROOM = 2  # reduced images keep twice the wanted size, so that the last, bicubic step still decides the quality
_ORIENTATION_TAG = 0x0112
_UPRIGHT: dict[int, Callable[[NDArray[np.uint8]], NDArray[np.uint8]]] = {
    2: lambda pixels: pixels[:, ::-1],
    3: lambda pixels: pixels[::-1, ::-1],
    4: lambda pixels: pixels[::-1],
    5: lambda pixels: pixels.swapaxes(0, 1),
    6: lambda pixels: pixels[::-1].swapaxes(0, 1),
    7: lambda pixels: pixels[::-1, ::-1].swapaxes(0, 1),
    8: lambda pixels: pixels[:, ::-1].swapaxes(0, 1),
}
_HEIC_STARTS = {b"ftyp" + brand for brand in (b"heic", b"heix", b"hevc", b"hevx", b"mif1", b"msf1", b"heim", b"heis")}
_large_image = threading.Lock()


def read_rgb(item: Item, size_hint: int | None = None) -> NDArray[np.uint8]:
    """Read one image of a collection, a file, its bytes or pixels, as uint8 [H, W, 3], upright, on white.

    ``size_hint`` is the shorter side that will be needed: much larger files are decoded at a fraction of their size,
    never below twice the hint. Of an animation the first frame is taken; 16-bit and floating images are scaled to
    8 bits. Raises ``UnreadableImage``. Safe to call from several threads.

    >>> read_rgb(np.zeros((4, 100, 3), np.uint8)).shape  # longer than 16 : 1
    (4, 64, 3)
    """
    if isinstance(item, np.ndarray):
        return _without_ends(item)
    if isinstance(item, str):
        item = Path(item)
    try:
        return _without_ends(_read_file(item, size_hint) if isinstance(item, Path) else _read_bytes(item, size_hint))
    except UnreadableImage:
        raise
    except FileNotFoundError:
        raise UnreadableImage(
            "broken link" if isinstance(item, Path) and item.is_symlink() else "file not found"
        ) from None
    except PermissionError:
        raise UnreadableImage("permission denied") from None
    except (MemoryError, Image.DecompressionBombError):
        raise UnreadableImage(f"too large (limit {MAX_PIXELS / 1e6:.0f} megapixels)") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnreadableImage("link in a circle") from None
        raise UnreadableImage(_damage(error)) from error
    except Exception as error:  # decoders raise nearly everything on damaged data
        raise UnreadableImage(_damage(error)) from error


def _damage(error: Exception) -> str:
    return "truncated" if "truncated" in str(error).lower() else "damaged"


def resize_shorter(image: NDArray[np.uint8] | Image.Image, size: int) -> NDArray[np.uint8]:
    """Resize so that the shorter side is ``size`` and the longer ``int(size · longer / shorter)``; uint8 [h, w, 3].

    Bicubic, and antialiased where the image shrinks: Pillow's kernel, by PyTorch's several times faster vector code.

    >>> resize_shorter(np.zeros((50, 99, 3), np.uint8), 25).shape
    (25, 49, 3)
    """
    pixels = np.array(_rgb(image)) if isinstance(image, Image.Image) else image
    height, width = pixels.shape[:2]
    longer = int(size * max(width, height) / min(width, height))
    target = (longer, size) if width <= height else (size, longer)
    if target == (height, width) or not pixels.flags.writeable:
        pixels = pixels.copy()
    if target == (height, width):
        return pixels
    import torch  # here: whoever only reads pictures starts in a tenth of the time
    from torch.nn import functional

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
    with open(path, "rb") as file:
        if is_raw_name(Path(path).name):
            return _read_bytes(raw_preview(file), size_hint)
        return _read_open(file, size_hint)


def _read_bytes(content: bytes, size_hint: int | None) -> NDArray[np.uint8]:
    if not content:
        raise UnreadableImage("empty file")
    return _read_open(io.BytesIO(content), size_hint)


def _read_open(file: BinaryIO, size_hint: int | None) -> NDArray[np.uint8]:
    _refuse_cost(cost_of_opening(file))
    with _decoder(file) as image:
        whole = image.width * image.height
        _refuse_size(image.width, image.height)
        if size_hint is not None:
            image.draft(None, (_HEADROOM * size_hint, _HEADROOM * size_hint))  # only JPEG and HEIC know how
        cost = _cost(image, file, whole, size_hint)
        _refuse_cost(cost)
        file.seek(0)
        with _one_at_a_time() if cost > _LARGE else nullcontext():
            return _decode(image, size_hint)


def _cost(image: ImageFile, file: BinaryIO, whole: int, size_hint: int | None) -> int:
    """Bytes at the moment that takes most: while the image is decoded, or while its pixels are handed on."""
    place = file.tell()
    if isinstance(image, JpegImageFile) and count_scans(file) > MAX_SCANS:
        raise UnreadableImage(f"too many scans (limit {MAX_SCANS})")
    decoding = cost_of_decoding(image, file, whole)
    file.seek(place)
    made = 3 * image.width * image.height // _reduction(image, size_hint) ** 2
    held = stored_bytes(image.mode) * image.width * image.height
    return _WORKING_SPACE + max(decoding, held + made, 2 * made)


def _refuse_size(width: int, height: int) -> None:
    if width < 1 or height < 1:
        raise UnreadableImage("damaged (no pixels)")
    if width * height > MAX_PIXELS:
        megapixels = f"{width * height / 1e6:.0f}" if width * height < 1e10 else "9999+"
        raise UnreadableImage(f"too large ({megapixels} megapixels, limit {MAX_PIXELS / 1e6:.0f})")
    if max(width, height) > MAX_SIDE_RATIO * min(width, height):
        raise UnreadableImage(f"too long ({max(width, height) // min(width, height)} : 1, limit {MAX_SIDE_RATIO})")


def _refuse_cost(cost: int) -> None:
    if cost > MAX_BYTES:
        raise UnreadableImage(f"too large ({human_bytes(cost)} to read, limit {human_bytes(MAX_BYTES)})")


def _decoder(file: BinaryIO) -> ImageFile:
    """The file as an image that is not decoded yet; apart from ``Image.open`` so that our pixel limit holds."""
    for decoder in _DECODERS:
        with suppress(SyntaxError):  # how Pillow says that a header is another format's
            try:
                file.seek(0)
                return decoder(file)
            except Image.DecompressionBombError:  # by its size alone, which has not been held against our limit yet
                with _one_at_a_time():
                    file.seek(0)
                    return decoder(file)
    file.seek(0)
    if file.read(12)[4:] in _HEIC_STARTS:  # read by none of them: the library is not there
        raise UnreadableImage("HEIC (to read it: pip install pillow-heif)")
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


def _decode(image: ImageFile, size_hint: int | None) -> NDArray[np.uint8]:
    image.load()
    turn = _orientation(image)
    factor = _reduction(image, size_hint)
    pixels = np.empty((-(-image.height // factor), -(-image.width // factor), 3), np.uint8)
    grey = eight_bit_rule(np.asarray(strip) for _, strip in _strips(image, 1)) if image.mode[0] in "IF" else None
    for top, strip in _strips(image, factor):
        made = Image.fromarray(grey(np.asarray(strip))) if grey else _eight_bit_mode(strip)
        made = made.reduce(factor) if factor > 1 else made
        rows = slice(top // factor, top // factor + made.height)
        pixels[rows] = over_white(np.asarray(made)) if made.mode == "RGBA" else np.asarray(_rgb(made))
    image.close()
    return pixels if turn is None else np.ascontiguousarray(turn(pixels))


def _reduction(image: Image.Image, size_hint: int | None) -> int:
    """By what whole number the decoded image is made smaller before it is handed on."""
    return 1 if size_hint is None else max(1, min(image.size) // (_HEADROOM * size_hint))


def _strips(image: Image.Image, factor: int) -> Iterator[tuple[int, Image.Image]]:
    """The image in strips of whole multiples of ``factor`` rows, each with its first row."""
    rows = max(factor, _STRIP // image.width // factor * factor)
    if rows >= image.height:
        yield 0, image.copy() if isinstance(image, Jpeg2KImageFile) else image  # which has a `reduce` of its own
        return
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def _orientation(image: Image.Image) -> Callable[[NDArray[np.uint8]], NDArray[np.uint8]] | None:
    """How to turn the pixels upright; None where they are."""
    with suppress(Exception):  # broken EXIF data is no reason to lose the picture
        tags = image.tag_v2 if isinstance(image, TiffImageFile) else image.getexif()
        return _UPRIGHT.get(tags.get(_ORIENTATION_TAG, 1))
    return None


def _eight_bit_mode(image: Image.Image) -> Image.Image:
    """The image as L, RGB or RGBA."""
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
