"""Pictures for the page: small ones made on demand and held in memory within a bound, and originals."""

import io
import threading
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from PIL import Image

from legogcd.errors import UnreadableImage
from legogcd.run.trust import FilesBelow

SMALL, _QUALITY = 160, 70
MOST_HELD = 128_000_000  # bytes of small pictures in memory
_LARGEST_AS_IS = 64_000_000  # bytes of a file that is sent as it is
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class SmallPictures:
    """WebP pictures by image id; the ones asked for last stay in memory. Threads may share one."""

    def __init__(self, files: FilesBelow, most: int = MOST_HELD) -> None:
        self.files = files
        self.held = 0
        self._most = most
        self._made: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._decoding = threading.BoundedSemaphore(4)  # large originals are costly to decode

    def get(self, row: int) -> bytes:
        """The small picture of an image; raises ``UnreadableImage``."""
        with self._lock:
            found = self._made.get(row)
            if found is not None:
                self._made.move_to_end(row)
                return found
        with self._decoding:
            made = _small_picture()(self.files.item(row), SMALL, _QUALITY)
        with self._lock:
            if row not in self._made:
                self._made[row] = made
                self.held += len(made)
            while self.held > self._most:
                self.held -= len(self._made.popitem(last=False)[1])
        return made


def original(path: Path) -> tuple[bytes, str]:
    """A file as a browser can show it, and its type; what a browser cannot show comes as JPEG.

    The type is told from the content: a file called .jpg that holds something else is never sent as what it is not.
    """
    if path.is_file() and path.stat().st_size <= _LARGEST_AS_IS:
        content = path.read_bytes()
        kind = _kind(content)
        if kind is not None:
            return content, kind
    pixels = import_module("legogcd.vision.decode").read_rgb(path)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="JPEG", quality=92)
    return file.getvalue(), "image/jpeg"


def warm_up() -> None:
    """Load what decodes pictures, and what assigns names, before the page asks for them."""
    _small_picture()
    import_module("scipy.optimize")


def _small_picture() -> Callable[[Path, int, int], bytes]:
    made: Callable[[Path, int, int], bytes] = import_module("legogcd.vision.small_picture").small_picture
    return made


def _kind(content: bytes) -> str | None:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    if content[4:12] in (b"ftypavif", b"ftypavis"):
        return "image/avif"
    return next((kind for magic, kind in _MAGIC if content.startswith(magic)), None)


__all__ = ["MOST_HELD", "SMALL", "SmallPictures", "UnreadableImage", "original", "warm_up"]
