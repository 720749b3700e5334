"""No image may take more than a gigabyte or hang; each is read, or refused with a short reason that names the limit."""

import io
import os
import signal
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from bench.bad_images import all_bad_images, jpeg_of_size, picture, png, saved, some_bad_images, tiff, tiff_tags, zeros
from bench.reading import Read, Reader
from legogcd.errors import UnreadableImage
from legogcd.vision import decode
from legogcd.vision.decode import MAX_BYTES, read_rgb
from legogcd.vision.decoding_cost import cost_of_opening, count_scans

REASONS = {"read", "damaged", "truncated", "not an image", "empty file", "too large", "too long", "too many scans"}


@pytest.fixture(scope="module")
def reader():
    with Reader(seconds=60) as process:
        yield process


@pytest.fixture
def reason(tmp_path):
    def why(content, size_hint=None):
        path = tmp_path / "image"
        path.write_bytes(content)
        with pytest.raises(UnreadableImage) as unreadable:
            read_rgb(path, size_hint)
        return unreadable.value.reason

    return why


def test_there_are_more_than_500_bad_images_and_their_names_differ():
    names = [name for name, _ in all_bad_images()]
    assert len(names) == len(set(names)) > 500


def test_bad_images_are_read_or_refused_with_a_reason_in_little_memory_and_time(reader, tmp_path):
    found: dict[str, Read] = {}
    for name, content in some_bad_images(120):
        path = tmp_path / name
        path.write_bytes(content)
        found[name] = reader.read(path, 224 if len(found) % 2 else None)
        path.unlink()
    assert len(found) == 120
    assert {read.outcome.split(" (")[0] for read in found.values()} <= REASONS
    assert max(read.peak for read in found.values()) < MAX_BYTES
    assert sum(read.outcome == "read" for read in found.values()) > 20


def lossy(kind, side, **options):
    buffer = io.BytesIO()
    Image.new("RGB", (side, side), (9, 80, 200)).save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("make", "least"),
    [
        (lambda: png(11_000, 11_000, 8, 2, zeros(33_001 * 11_000)), 700e6),
        (lambda: tiff(tiff_tags(9_000, 9_000, [16] * 3, len(zeros(486_000_000))), zeros(486_000_000)), 700e6),
        (lambda: lossy("WEBP", 7_300, method=0), 700e6),
        (lambda: lossy("JPEG", 9_000, progressive=True, subsampling=0), 700e6),
        (lambda: lossy("JPEG2000", 5_000), 400e6),
    ],
    ids=["png", "tiff-16-bit-in-one-strip", "webp", "progressive-jpeg", "jpeg2000"],
)
def test_the_largest_images_that_are_read_cost_less_than_a_gigabyte(reader, tmp_path, make, least):
    path = tmp_path / "large"
    path.write_bytes(make())
    read = reader.read(path)
    assert read.outcome == "read"
    assert least < read.peak < MAX_BYTES  # much less would mean that the memory is not measured


def test_the_reader_notices_crashes_and_hangs(tmp_path):
    with Reader(seconds=3) as process:
        assert process.read(tmp_path / "missing").outcome == "file not found"
        process._process.kill()
        process._process.wait()
        assert process.read(tmp_path / "missing").outcome == "crash"
        assert process.read(tmp_path / "missing").outcome == "file not found"
        os.kill(process._process.pid, signal.SIGSTOP)
        assert process.read(tmp_path / "missing").outcome == "hang"
        assert process.read(tmp_path / "missing").outcome == "file not found"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (png(1, 200_000_000, 1, 0, b""), "too long (200000000 : 1, limit 1000)"),
        (png(200_000_000, 1, 1, 0, b""), "too long (200000000 : 1, limit 1000)"),
        (png(1, 1001, 8, 0, zeros(2002)), "too long (1001 : 1, limit 1000)"),
        (png(2**31 - 1, 2**31 - 1, 8, 2, b""), "too large (9999+ megapixels, limit 256)"),
        (png(16_001, 16_000, 1, 0, b""), "too large (256 megapixels, limit 256)"),
        (png(15_900, 16_000, 8, 2, b""), "too large (1.84 GB to read, limit 1 GB)"),
        (tiff(tiff_tags(15_000, 16_000, [8] * 3, 9), bytes(9)), "too large (1.74 GB to read, limit 1 GB)"),
        (jpeg_of_size(saved(picture(), "jpg"), 40_000, 10_000), "too large (400 megapixels, limit 256)"),
        (tiff(tiff_tags(8, 8, [8], 72, 1) | {273: (4, [8] * 30_000_000)}), "too large (1.2 GB to read, limit 1 GB)"),
    ],
    ids=["tall", "wide", "just-too-tall", "enormous", "just-too-large", "rgb", "tiff", "jpeg", "tiff-directory"],
)
def test_refused_images_say_the_limit_before_anything_is_decoded(reason, monkeypatch, content, words):
    monkeypatch.setattr(decode, "_decode", None)
    assert reason(content) == words


def test_a_gif_between_pillows_limit_and_ours_is_read(tmp_path):
    path = tmp_path / "wide.gif"
    small = saved(picture(), "gif")
    path.write_bytes(small[:6] + struct.pack("<HH", 20_000, 10_000) + small[10:])
    before = Image.MAX_IMAGE_PIXELS
    assert 2 * before < 200_000_000
    assert read_rgb(path, size_hint=500).shape == (1_000, 2_000, 3)
    assert before == Image.MAX_IMAGE_PIXELS


def test_films_behind_a_jpeg_are_no_scans(tmp_path):
    path = tmp_path / "motion.jpg"
    exif = Image.Exif()
    path.write_bytes(saved(picture(), "jpg", exif=exif, comment=b"\xff\xda" * 200) + b"film\xff\xda" * 500)
    assert read_rgb(path).shape == (48, 64, 3)


def test_a_tile_larger_than_its_picture_counts(reason):
    tags = tiff_tags(8, 8, [8], 72) | {322: (4, [40_000]), 323: (4, [40_000])}
    tags |= {324: tags.pop(273), 325: tags.pop(279)}
    assert reason(tiff({tag: value for tag, value in tags.items() if tag != 278}, zeros(72))).startswith(
        "too large (1.6"
    )


def test_a_progressive_jpeg_is_held_whole_even_where_it_is_read_smaller(reason):
    large = jpeg_of_size(saved(picture(), "jpg", progressive=True, subsampling=0), 16_000, 15_900)
    assert reason(large, size_hint=64).startswith("too large (1.6")


def test_a_webp_is_measured_before_its_decoder_takes_memory(tmp_path):
    for options in ({"lossless": True}, {"lossless": False}, {"exif": b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0"}):
        path = tmp_path / "a.webp"
        Image.new("RGB", (70, 50)).save(path, **options)
        with open(path, "rb") as file:
            assert cost_of_opening(file) == 70 * 50 * 17
    path.write_bytes(path.read_bytes()[:24] + b"\xff\xff\xff\xff\xff\xff" + path.read_bytes()[30:])
    with pytest.raises(UnreadableImage, match=r"too large \(.* TB to read, limit 1 GB\)"):
        read_rgb(path)


def test_a_jpeg_of_a_thousand_scans_is_refused(reason, tmp_path):
    content = saved(picture(), "jpg", progressive=True)
    path = tmp_path / "usual.jpg"
    path.write_bytes(content)
    with open(path, "rb") as file:
        assert 1 < count_scans(file) == content.count(b"\xff\xda") <= 12
    last = content.rfind(b"\xff\xda")
    assert reason(content[:last] + content[last:-2] * 1000 + content[-2:]) == "too many scans (limit 100)"


@given(
    st.sampled_from(["1", "L", "LA", "P", "RGB", "RGBA", "I", "F", "I;16"]),
    st.integers(1, 60),
    st.integers(1, 60),
    st.sampled_from([None, 1, 3, 7]),
    st.integers(1, 6),
    st.integers(0, 99),
)
@settings(max_examples=150, deadline=None)
def test_strips_change_no_pixel(tmp_path_factory, mode, height, width, hint, orientation, seed):
    noise = np.random.default_rng(seed).integers(256, size=(height, width, 4), dtype=np.uint8)
    made = {
        "I": lambda: Image.fromarray(noise[..., 0].astype(np.int32) * 300 - 5),
        "F": lambda: Image.fromarray(noise[..., 0].astype(np.float32) * 3 - 5),
        "I;16": lambda: Image.fromarray(noise[..., 0].astype(np.uint16) * 250),
    }.get(mode, lambda: Image.fromarray(noise, "RGBA").convert(mode))()
    path = tmp_path_factory.mktemp("strips") / "a.tif"
    exif = Image.Exif()
    exif[0x0112] = orientation
    made.save(path, exif=exif)
    whole = read_rgb(path, hint)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode, "_STRIP", 1)
        np.testing.assert_array_equal(read_rgb(path, hint), whole)


def test_the_zeros_of_the_bombs_are_what_zlib_would_write():
    for count in (0, 1, 2_000, 3 << 20, (2 << 20) + 5):
        assert zlib.decompress(zeros(count)) == bytes(count)
    assert len(zeros(1_000_000_000)) < 1_100_000
    assert struct.unpack("<L", tiff({256: (4, [7])})[4:8]) == (8,)
