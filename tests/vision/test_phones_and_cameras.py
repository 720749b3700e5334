"""What phones and cameras write: HEIC and raw files, read as every other image or named with what to install."""

import struct
import sys
from pathlib import Path

import numpy as np
import pillow_heif
import pytest
from PIL import Image

from legogcd.collection import find_images, folder_search
from legogcd.errors import UnreadableImage
from legogcd.vision import decode
from legogcd.vision.decode import read_rgb

RED = (210, 40, 30)


def write_heic(path: Path, size: tuple[int, int] = (96, 64), **options: object) -> Path:
    pillow_heif.from_pillow(Image.new("RGB", size, RED)).save(path, quality=90, **options)
    return path


def write_dng(path: Path, width: int = 64, height: int = 48) -> Path:
    """The least a raw file can be: a Bayer pattern, uncompressed, with a camera's name."""
    colors = np.zeros((height, width), np.uint16)
    colors[0::2, 0::2], colors[0::2, 1::2], colors[1::2, 0::2], colors[1::2, 1::2] = 60000, 6000, 6000, 3000
    one = struct.pack("<9l9l", *([1, 0, 0, 0, 1, 0, 0, 0, 1]), *[1] * 9)
    matrix = b"".join(struct.pack("<ll", *struct.unpack("<9l9l", one)[i::9]) for i in range(9))
    fields = {
        **{254: (4, [0]), 256: (4, [width]), 257: (4, [height]), 258: (3, [16]), 259: (3, [1]), 262: (3, [32803])},
        **{271: (2, b"Some\0"), 272: (2, b"Camera\0"), 273: (4, [0]), 274: (3, [1]), 277: (3, [1]), 278: (4, [height])},
        **{279: (4, [colors.nbytes]), 33421: (3, [2, 2]), 33422: (1, [0, 1, 1, 2]), 50706: (1, [1, 4, 0, 0])},
        **{50708: (2, b"Some Camera\0"), 50717: (4, [65535]), 50721: (10, matrix)},
    }
    letters = {1: "B", 3: "H", 4: "L"}
    start = 8 + 2 + 12 * len(fields) + 4
    body, table, place = b"", b"", 0
    for tag, (kind, values) in sorted(fields.items()):
        raw = values if isinstance(values, bytes) else struct.pack(f"<{len(values)}{letters[kind]}", *values)
        count = len(raw) // 8 if kind == 10 else len(values)
        place = len(table) + 8 if tag == 273 else place
        held = raw.ljust(4, b"\0") if len(raw) <= 4 else struct.pack("<L", start + len(body))
        body += raw + bytes(len(raw) % 2) if len(raw) > 4 else b""
        table += struct.pack("<HHL", tag, kind, count) + held
    table = table[:place] + struct.pack("<L", start + len(body)) + table[place + 4 :]
    path.write_bytes(b"II*\0" + struct.pack("<LH", 8, len(fields)) + table + bytes(4) + body + colors.tobytes())
    return path


def test_heic_is_read_and_turned_upright(tmp_path: Path) -> None:
    picture = Image.new("RGB", (96, 64), RED)
    picture.paste((20, 30, 220), (0, 0, 48, 64))
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright
    pillow_heif.from_pillow(picture).save(tmp_path / "a.heic", quality=95, exif=exif.tobytes())
    pixels = read_rgb(tmp_path / "a.heic").astype(int)
    assert pixels.shape == (96, 64, 3)
    assert np.abs(pixels[10, 30] - (20, 30, 220)).max() < 25
    assert np.abs(pixels[-10, 30] - RED).max() < 25
    assert read_rgb((tmp_path / "a.heic").read_bytes()).shape == (96, 64, 3)
    assert find_images(tmp_path).names == ("a.heic",)


def test_a_heic_that_lies_about_its_size_or_costs_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = write_heic(tmp_path / "a.heic", (640, 480)).read_bytes()
    place = content.index(b"ispe") + 8
    (tmp_path / "liar.heic").write_bytes(content[:place] + struct.pack(">LL", 64, 48) + content[place + 8 :])
    with pytest.raises(UnreadableImage, match="damaged"):
        read_rgb(tmp_path / "liar.heic")
    monkeypatch.setattr(decode, "MAX_BYTES", 62_000_000)
    with pytest.raises(UnreadableImage, match="too large"):
        read_rgb(tmp_path / "a.heic")


def test_without_its_library_a_heic_is_named_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode, "_DECODERS", [kind for kind in decode._DECODERS if kind.format != "HEIF"])
    with pytest.raises(UnreadableImage, match="pip install pillow-heif"):
        read_rgb(write_heic(tmp_path / "a.heic"))


def test_raw_is_developed(tmp_path: Path) -> None:
    pixels = read_rgb(write_dng(tmp_path / "a.dng"))
    assert pixels.shape == (24, 32, 3)
    red, green, blue = pixels.reshape(-1, 3).mean(axis=0)
    assert red > 200
    assert max(green, blue) < 130
    (tmp_path / "cut.dng").write_bytes((tmp_path / "a.dng").read_bytes()[:200])
    with pytest.raises(UnreadableImage):
        read_rgb(tmp_path / "cut.dng")


def test_a_raw_file_beside_its_jpeg_is_the_same_photo(tmp_path: Path) -> None:
    write_dng(tmp_path / "a.dng")
    write_dng(tmp_path / "b.DNG")
    Image.new("RGB", (9, 9)).save(tmp_path / "a.jpg")
    images = find_images(tmp_path)
    assert images.names == ("a.jpg", "b.DNG")
    assert images.skipped["a.dng"] == "camera raw of a picture beside it (a.jpg)"


def test_without_its_library_a_raw_file_is_named_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli
) -> None:
    (tmp_path / "photos").mkdir()
    write_dng(tmp_path / "photos" / "a.dng")
    Image.new("RGB", (9, 9)).save(tmp_path / "photos" / "b.jpg")
    monkeypatch.setitem(sys.modules, "rawpy", None)
    monkeypatch.setattr(folder_search, "reads_raw", lambda: False)
    with pytest.raises(UnreadableImage, match="pip install rawpy"):
        read_rgb(tmp_path / "photos" / "a.dng")
    (tmp_path / "labels.csv").write_text("path,label\nb.jpg,owl\n")
    said = run_cli("discover", tmp_path / "photos", "--labels", tmp_path / "labels.csv", "--classes", 5, "--out", "x")
    assert "1 file passed over: camera raw (to read it: pip install rawpy): 'a.dng'" in said.stderr
