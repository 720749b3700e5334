"""More than 500 bad images, and what reading them does: ``python -m bench.faults.bad_images``.

Every image must be read or refused with a reason, within a time limit and within a gigabyte of memory. The images are
made anew from a seed, the same each time; tests take a part of them.
"""

import argparse
import io
import itertools
import struct
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from bench.faults.reading import Reader

Named = Iterator[tuple[str, bytes]]
FORMATS = {"jpg": "JPEG", "png": "PNG", "gif": "GIF", "bmp": "BMP", "tif": "TIFF", "webp": "WEBP", "ppm": "PPM"}
FORMATS |= {"jp2": "JPEG2000", "avif": "AVIF"}
HUGE = [(1, 200_000_000), (200_000_000, 1), (65_535, 65_535), (2**31 - 1, 2**31 - 1), (60_000, 4_000), (16_000, 15_000)]


def bad_images(seed: int = 0) -> Named:
    """(file name, content) of every bad image; names are unique."""
    families = (
        _truncated,
        _flipped,
        _new_heads,
        _wrong_endings,
        _others,
        _huge,
        _chunks,
        _moving,
        _modes,
        _exif,
        _tiffs,
    )
    for family in (*families, _jpegs):
        yield from family(np.random.default_rng(seed))


@cache
def all_bad_images(seed: int = 0) -> tuple[tuple[str, bytes], ...]:
    return tuple(bad_images(seed))


def some_bad_images(count: int, seed: int = 0) -> list[tuple[str, bytes]]:
    """``count`` bad images of every family, evenly spread."""
    everything = all_bad_images(seed)
    places = np.linspace(0, len(everything) - 1, min(count, len(everything))).round().astype(int)
    return [everything[place] for place in places]


def saved(picture: Image.Image, ending: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, FORMATS[ending], **options)
    return buffer.getvalue()


def picture(height: int = 48, width: int = 64) -> Image.Image:
    y, x = np.mgrid[0:height, 0:width]
    return Image.fromarray(np.stack([x * 4, y * 5, (x * y) % 256], axis=-1).astype(np.uint8))


@cache
def good_images() -> dict[str, bytes]:
    return {ending: saved(picture(), ending) for ending in FORMATS}


def _truncated(random: np.random.Generator) -> Named:
    for ending, content in good_images().items():
        for number, cut in enumerate(random.integers(1, len(content), size=13)):
            yield f"truncated-{number:02d}.{ending}", content[:cut]


def _flipped(random: np.random.Generator) -> Named:
    for ending, content in good_images().items():
        for number in range(16):
            damaged = bytearray(content)
            for place in random.integers(len(content), size=2 ** (number % 5)):
                damaged[place] ^= 1 << int(random.integers(8))
            yield f"flipped-{number:02d}.{ending}", bytes(damaged)


def _new_heads(random: np.random.Generator) -> Named:
    good = good_images()
    for ending, content in good.items():
        for number in range(8):
            head = random.integers(256, size=int(random.integers(4, 40)), dtype=np.uint8).tobytes()
            start = int(random.integers(0, 24))
            yield f"head-{number}.{ending}", content[:start] + head + content[start + len(head) :]
        for other in good:
            if other != ending:
                yield f"body-of-{other}.{ending}", content[:12] + good[other][12:]


def _wrong_endings(random: np.random.Generator) -> Named:
    for (ending, content), wrong in zip(good_images().items(), random.permutation(list(FORMATS)), strict=True):
        yield f"really-{ending}.{wrong}", content


def _others(random: np.random.Generator) -> Named:
    yield "empty.jpg", b""
    texts = ["hello", "<html></html>", "<svg width='9' height='9'/>", "%PDF-1.7", "%!PS-Adobe-3.0 EPSF-3.0", "GIF89a"]
    texts += [
        "BM",
        "II*\0",
        "MM\0*",
        "RIFF\0\0\0\0WEBP",
        "P6\n",
        "P6 9999999999 1 255\n",
        "P1\n3 3\n" + "1 " * 4,
        "\x7fELF",
    ]
    for number, text in enumerate(texts):
        yield f"text-{number:02d}.png", text.encode("latin-1")
    yield "zeros.tif", bytes(100_000)
    yield "archive.jpg", b"PK\x03\x04" + bytes(200)
    for number in range(6):
        yield f"noise-{number}.jpg", random.integers(256, size=10 ** (number % 5 + 1), dtype=np.uint8).tobytes()
    for ending, content in good_images().items():
        yield f"trailing.{ending}", content + random.integers(256, size=9999, dtype=np.uint8).tobytes()
        yield f"leading.{ending}", b"\n\n" + content


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, bits: int = 1, color: int = 0, data: bytes = b"", before: bytes = b"") -> bytes:
    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def zeros(count: int) -> bytes:
    """``count`` zeros, compressed a thousandfold."""
    block, rest = zlib.compressobj(9, wbits=-15), zlib.compressobj(9, wbits=-15)
    million = block.compress(bytes(1 << 20)) + block.flush(zlib.Z_FULL_FLUSH)  # which may be repeated as it is
    end = rest.compress(bytes(count % (1 << 20))) + rest.flush()
    return b"\x78\xda" + million * (count >> 20) + end + struct.pack(">I", count % 65_521 << 16 | 1)


def jpeg_of_size(content: bytes, width: int, height: int) -> bytes:
    for marker in (b"\xff\xc0", b"\xff\xc2"):
        place = content.find(marker)
        if place >= 0:
            return content[: place + 5] + struct.pack(">HH", height & 0xFFFF, width & 0xFFFF) + content[place + 9 :]
    raise ValueError("not a JPEG")


def tiff(tags: dict[int, tuple[int, list[int]]], data: bytes = b"") -> bytes:
    """A little-endian TIFF of ``tags`` {tag: (type 3 or 4, values)}, with ``data`` at byte 8."""
    place = 8 + len(data) + len(data) % 2
    entries, extra = b"", b""
    end = place + 2 + 12 * len(tags) + 4
    for tag, (kind, values) in sorted(tags.items()):
        packed = struct.pack(f"<{len(values)}{'H' if kind == 3 else 'L'}", *values)
        if len(packed) > 4:
            value = struct.pack("<L", end + len(extra))
            extra += packed
        else:
            value = packed.ljust(4, b"\0")
        entries += struct.pack("<HHL", tag, kind, len(values)) + value
    directory = struct.pack("<H", len(tags)) + entries + bytes(4)
    return b"II*\0" + struct.pack("<L", place) + data + bytes(len(data) % 2) + directory + extra


def tiff_tags(width: int, height: int, bits: list[int], count: int, compression: int = 8) -> dict:
    tags = {256: (4, [width]), 257: (4, [height]), 258: (3, bits), 259: (3, [compression])}
    return tags | {
        262: (3, [2 if len(bits) >= 3 else 1]),
        277: (3, [len(bits)]),
        278: (4, [height]),
        273: (4, [8]),
        279: (4, [count]),
    }


def _huge(_: np.random.Generator) -> Named:
    good = good_images()
    flat = zeros(30_000_000)
    for number, (width, height) in enumerate([*HUGE, (0, 0), (0, 5), (5, 0)]):
        yield f"size-{number}.png", png(width, height, 8, 2, flat)
        yield f"size-bits-{number}.png", png(width, height, 1, 0, flat)
        yield f"size-deep-{number}.png", png(width, height, 16, 6, flat)
        yield f"size-{number}.bmp", good["bmp"][:18] + struct.pack("<II", width, height) + good["bmp"][26:]
        yield (
            f"size-{number}.gif",
            good["gif"][:6] + struct.pack("<HH", width & 65535, height & 65535) + good["gif"][10:],
        )
        yield f"size-{number}.ppm", f"P6 {width} {height} 255\n".encode() + bytes(1000)
        yield f"size-plain-{number}.ppm", f"P3 {width} {height} 255\n".encode() + b"1 " * 1000
        yield f"size-float-{number}.ppm", f"Pf {width} {height} -1.0\n".encode() + bytes(1000)
        yield f"size-{number}.jpg", jpeg_of_size(good["jpg"], width, height)
        yield f"size-progressive-{number}.jpg", jpeg_of_size(saved(picture(), "jpg", progressive=True), width, height)
        canvas = struct.pack("<I", max(width - 1, 0))[:3] + struct.pack("<I", max(height - 1, 0))[:3]
        body = b"WEBPVP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + canvas + good["webp"][12:]
        yield f"size-{number}.webp", b"RIFF" + struct.pack("<I", len(body)) + body
        place = good["jp2"].find(b"\xff\x4f\xff\x51") + 8
        yield f"size-{number}.jp2", good["jp2"][:place] + struct.pack(">II", width, height) + good["jp2"][place + 8 :]
        yield f"size-{number}.tif", tiff(tiff_tags(width, height, [8, 8, 8], len(flat)), flat)
        yield f"size-deep-{number}.tif", tiff(tiff_tags(width, height, [16, 16, 16, 16], len(flat)), flat)
        yield f"size-raw-{number}.tif", tiff(tiff_tags(width, height, [8], 900, 1), bytes(900))


def _chunks(_: np.random.Generator) -> Named:
    bomb = zeros(300_000_000)
    for kind, start in ((b"zTXt", b"a\0\0"), (b"iTXt", b"a\0\1\0\0\0"), (b"iCCP", b"a\0\0")):
        yield f"bomb-{kind.decode()}.png", png(8, 8, 8, 0, zeros(72), chunk(kind, start + bomb))
        yield f"many-{kind.decode()}.png", png(8, 8, 8, 0, zeros(72), chunk(kind, start + zeros(1_000_000)) * 200)
    yield "long-data.png", png(8, 8, 8, 0, bomb)
    yield "unknown-chunk.png", png(8, 8, 8, 0, zeros(72), chunk(b"zzZz", bytes(5_000_000)))
    yield "chunk-beyond-end.png", png(8, 8, 8, 0, zeros(72))[:60] + struct.pack(">I", 2**31 - 1) + b"tEXt"
    yield "no-data.png", png(8, 8, 8, 0, b"")
    yield "tall-1000.png", png(1, 1000, 8, 0, zeros(2000))
    yield "tall-1001.png", png(1, 1001, 8, 0, zeros(2002))


def _moving(_: np.random.Generator) -> Named:
    frames = [Image.new("RGB", (16, 16), (i % 256, 0, 0)) for i in range(300)]
    for ending in ("gif", "png", "webp", "tif"):
        yield f"moving.{ending}", saved(frames[0], ending, save_all=True, append_images=frames[1:])
    large = [Image.new("P", (5000, 4000), i) for i in range(2)]
    yield "moving-large.gif", saved(large[0], "gif", save_all=True, append_images=large[1:])
    gif = good_images()["gif"]
    place = gif.find(b"\x2c", 13 + 3 * 256) if gif[10] & 128 else 13
    yield "frame-beyond.gif", gif[: place + 5] + struct.pack("<HH", 65_535, 65_535) + gif[place + 9 :]


def _modes(_: np.random.Generator) -> Named:
    for mode in ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "I", "F", "I;16", "HSV"):
        for ending in FORMATS:
            try:
                made = picture().convert("RGB").convert("L" if mode == "I;16" else mode if mode != "LAB" else "RGB")
                content = saved(made.convert("I;16") if mode == "I;16" else made, ending)
            except (OSError, ValueError, KeyError):
                continue  # a mode this format does not have
            yield f"mode-{mode.replace(';', '-')}.{ending}", content
    yield "keyed.png", saved(picture(), "png", transparency=(0, 0, 0))
    yield "holes.tif", saved(Image.fromarray(np.array([[np.nan, np.inf], [-np.inf, 1]], np.float32)), "tif")


def _exif(random: np.random.Generator) -> Named:
    entries = b"".join(struct.pack("<HHLL", 1000 + tag, 1, 60_000, 0) for tag in range(4000))
    overlapping = b"Exif\0\0II*\0" + struct.pack("<LH", 8, 4000) + entries + bytes(12_000)
    for ending in ("jpg", "png", "webp", "tif", "avif"):
        for number, size in enumerate((0, 6, 40, 5000)):
            junk = b"Exif\0\0" + random.integers(256, size=size, dtype=np.uint8).tobytes()
            try:
                content = saved(picture(), ending, exif=junk)
            except Exception:  # some writers read it
                continue
            yield f"exif-{number}.{ending}", content
        for orientation in (0, 9, 65_535):
            exif = Image.Exif()
            exif[0x0112] = orientation
            yield f"orientation-{orientation}.{ending}", saved(picture(), ending, exif=exif)
    yield "exif-overlapping.jpg", saved(picture(), "jpg", exif=overlapping[:65_000])
    yield "exif-overlapping.png", png(8, 8, 8, 0, zeros(72), chunk(b"eXIf", overlapping[6:]))


def _tiffs(_: np.random.Generator) -> Named:
    flat = zeros(1_500_000_000)
    tile = tiff_tags(8, 8, [8], len(flat)) | {322: (4, [32_768]), 323: (4, [32_768])}
    tile |= {324: tile.pop(273), 325: tile.pop(279)}
    yield "tile-beyond.tif", tiff({tag: value for tag, value in tile.items() if tag != 278}, flat)
    yield "strips.tif", tiff(tiff_tags(8, 8, [8], 72, 1) | {273: (3, [8] * 20_000_000)}, bytes(72))
    yield "samples.tif", tiff(tiff_tags(2000, 2000, [8] * 500, len(flat)), flat)
    looping = bytearray(tiff(tiff_tags(8, 8, [8], 64, 1), bytes(64)))
    looping[-4:] = looping[4:8]
    yield "looping.tif", bytes(looping)
    for compression in (0, 2, 3, 4, 5, 6, 7, 32_773, 34_712, 34_925, 50_000, 50_001, 65_535):
        yield f"compression-{compression}.tif", tiff(tiff_tags(64, 64, [8], 64, compression), bytes(64))


def _jpegs(_: np.random.Generator) -> Named:
    content = saved(picture(), "jpg", progressive=True)
    scan = content.rfind(b"\xff\xda")
    yield "scans.jpg", content[:scan] + content[scan:-2] * 2000 + content[-2:]
    yield "progressive-210-megapixels.jpg", jpeg_of_size(content, 15_000, 14_000)
    yield "baseline-225-megapixels.jpg", jpeg_of_size(saved(picture(), "jpg"), 15_000, 15_000)
    yield "largest.jpg", jpeg_of_size(content, 65_535, 65_535)
    for number in range(10):
        yield f"no-tables-{number}.jpg", content[:2] + content[20 * (number + 1) :]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.faults.bad_images", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--count", type=int, help="how many of them; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60, help="time limit for one image")
    options = parser.parse_args()
    images = bad_images(options.seed) if options.count is None else iter(some_bad_images(options.count, options.seed))
    with tempfile.TemporaryDirectory() as folder, Reader(options.seconds) as reader:
        found = []
        for name, content in images:
            path = Path(folder) / name
            path.write_bytes(content)
            found += [(name, reader.read(path, hint)) for hint in (None, 224)]
            path.unlink()
    outcomes = Counter(read.outcome.split(" (")[0] for _, read in found)
    for outcome, count in outcomes.most_common():
        print(f"{count:5d}  {outcome}")
    print(f"{len(found) // 2} images, each read whole and with a size hint")
    for what, key in (("memory", lambda item: item[1].peak), ("time", lambda item: item[1].seconds)):
        for name, read in itertools.islice(sorted(found, key=key, reverse=True), 5):
            print(f"most {what}: {name}: {read.peak / 1e6:.0f} MB, {read.seconds:.1f} s, {read.outcome}")


if __name__ == "__main__":
    main()
