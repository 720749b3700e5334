"""What a file will cost to decode, told from its header alone: bytes of memory, by format.

The bytes per pixel were measured with Pillow's own decoders and rounded up: an image refused for nothing is better
than a machine that stops. ``python -m bench.faults.bad_images`` measures what reading really takes.
"""

import os
import struct
from typing import BinaryIO

from PIL.ImageFile import ImageFile
from PIL.TiffImagePlugin import TiffImageFile

_STORED = {"1": 1, "L": 1, "P": 1}  # bytes per pixel once decoded; every other mode but I;16 takes four
_WHOLE_FILE = {"WEBP": 3, "AVIF": 3, "HEIF": 3}  # copies of the file itself that the decoder holds
_BESIDE = {
    "WEBP": 13,
    "AVIF": 12,
    "HEIF": 12,
    "PPM": 8,
    "BMP": 4,
}  # per pixel, beside what it makes
_MAYBE_PLAIN = ("BMP", "PPM", "TIFF")  # formats whose pixels may stand in the file as they are
_NUMBER_BYTES = {3: 2, 4: 4, 5: 8, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}  # by TIFF type
_PER_NUMBER = 40  # what Pillow makes of a number in a TIFF directory: an entry in a tuple, and Python's number
_MOST_ENTRIES = 4096  # of a TIFF directory; usual files have 20
_TILE_WIDTH, _TILE_LENGTH, _ROWS_PER_STRIP, _BITS, _SAMPLES = 322, 323, 278, 258, 277


def cost_of_opening(file: BinaryIO) -> int:
    """Bytes that a decoder takes before it has told the image's size; the file is left at its start."""
    file.seek(0)
    start = file.read(30)
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return _webp_pixels(start) * (_BESIDE["WEBP"] + 4)
    if start[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return _directory_numbers(file, start) * _PER_NUMBER
    return 0


def cost_of_decoding(image: ImageFile, file: BinaryIO, whole: int) -> int:
    """Bytes needed to decode ``image`` of ``whole`` pixels, fewer of which a JPEG may be about to give."""
    kind = image.format or ""
    cost = stored_bytes(image.mode) * image.width * image.height + _BESIDE.get(kind, 0) * whole
    if kind in _MAYBE_PLAIN and [tile[0] for tile in image.tile[:1]] == ["raw"]:
        return stored_bytes(image.mode) * image.width * image.height  # the file is read row by row
    cost += _WHOLE_FILE.get(kind, 1) * _length(file)
    if kind == "JPEG":
        cost += 2 * _held_coefficients(image, file, whole)
    elif kind == "JPEG2000":
        cost += 6 * _codestream_samples(file, whole)
    elif isinstance(image, TiffImageFile):
        cost += _largest_piece(image)
    return cost


def _length(file: BinaryIO) -> int:
    place = file.tell()
    length = file.seek(0, os.SEEK_END)
    file.seek(place)
    return length


def stored_bytes(mode: str) -> int:
    """Bytes that Pillow takes for a pixel once it is decoded."""
    return 2 if mode.startswith("I;16") else _STORED.get(mode, 4)


def count_scans(file: BinaryIO) -> int:
    """How often a JPEG goes over its picture; a few bytes each can keep a processor busy for hours."""
    file.seek(_first_scan(file))
    count, before = 0, b""
    while block := file.read(1 << 20):
        count += (before + block).split(b"\xff\xd9", 1)[0].count(b"\xff\xda")
        if b"\xff\xd9" in before + block:  # the end of the picture; phones put films behind it
            break
        before = block[-1:]
    return count


def _first_scan(file: BinaryIO) -> int:
    """Where the first scan of a JPEG begins: behind the segments, which may hold pictures of their own."""
    place = 2
    while True:
        file.seek(place)
        segment = file.read(4)
        if len(segment) < 4 or segment[0] != 0xFF or segment[1] == 0xDA:
            return place
        if segment[1] == 0xFF:  # padding
            place += 1
        else:
            place += 2 + int.from_bytes(segment[2:], "big")


def _webp_pixels(start: bytes) -> int:
    if start[12:16] == b"VP8X" and len(start) >= 30:
        return (int.from_bytes(start[24:27], "little") + 1) * (int.from_bytes(start[27:30], "little") + 1)
    if start[12:16] == b"VP8 " and len(start) >= 30:
        width, height = struct.unpack_from("<HH", start, 26)
        return int(width & 0x3FFF) * int(height & 0x3FFF)
    if start[12:16] == b"VP8L" and len(start) >= 25:
        bits = int.from_bytes(start[21:25], "little")
        return ((bits & 0x3FFF) + 1) * (((bits >> 14) & 0x3FFF) + 1)
    return 0


def _directory_numbers(file: BinaryIO, start: bytes) -> int:
    """Numbers that the first directory of a TIFF says to hold, as far as the file can hold them."""
    order, big = "<" if start[:2] == b"II" else ">", b"+" in start[2:4]
    if len(start) < 16:
        return 0
    size = _length(file)
    (place,) = struct.unpack_from(order + ("Q" if big else "L"), start, 8 if big else 4)
    if place >= size:
        return 0
    file.seek(place)
    counter, entry = ("Q", "HHQ8s") if big else ("H", "HHL4s")
    raw = file.read(struct.calcsize("<" + counter))
    if len(raw) < struct.calcsize("<" + counter):
        return 0
    entries = min(struct.unpack(order + counter, raw)[0], _MOST_ENTRIES)
    width = struct.calcsize("<" + entry)
    table = file.read(entries * width)
    numbers = 0
    for at in range(0, len(table) - width + 1, width):
        _, kind, count, _ = struct.unpack_from(order + entry, table, at)
        if kind in _NUMBER_BYTES:
            numbers += min(count, size // _NUMBER_BYTES[kind])
    return numbers


def _held_coefficients(image: ImageFile, file: BinaryIO, whole: int) -> int:
    """Numbers a JPEG decoder holds until the last scan; none where one scan brings all components."""
    if not image.info.get("progressive") and count_scans(file) < 2:
        return 0
    factors = [(int(across), int(down)) for _, across, down, _ in getattr(image, "layer", [])]
    widest = max((across for across, _ in factors), default=1) * max((down for _, down in factors), default=1)
    return whole * sum(across * down for across, down in factors) // max(widest, 1)


def _codestream_samples(file: BinaryIO, whole: int) -> int:
    """Samples a JPEG 2000's codestream announces, which may be more than the box around it does."""
    file.seek(0)
    start = file.read(1 << 16)
    place = start.find(b"\xff\x4f\xff\x51")
    if place < 0 or len(start) < place + 42:
        return 4 * whole
    width, height = struct.unpack_from(">LL", start, place + 8)
    (components,) = struct.unpack_from(">H", start, place + 40)
    return max(whole, int(width) * int(height)) * max(int(components), 1)


def _largest_piece(image: TiffImageFile) -> int:
    """Bytes of a strip or tile of a TIFF, which is decoded as a whole; a tile may be larger than its picture."""
    tags = image.tag_v2
    bits = sum(_numbers(tags.get(_BITS, 8))) if _BITS in tags else 8
    per_pixel = max(bits, max(_numbers(tags.get(_BITS, 8)), default=8) * max(_numbers(tags.get(_SAMPLES, 1)))) / 8
    if _TILE_WIDTH in tags and _TILE_LENGTH in tags:
        return int(max(_numbers(tags[_TILE_WIDTH])) * max(_numbers(tags[_TILE_LENGTH])) * per_pixel)
    width, height = image.size
    rows = min(height, max(_numbers(tags.get(_ROWS_PER_STRIP, height)), default=height))
    return int(width * rows * per_pixel)


def _numbers(value: object) -> list[int]:
    return [int(item) for item in (value if isinstance(value, tuple | list) else (value,)) if isinstance(item, int)]
