"""Reading pictures of every make, and saying in a phrase why one cannot be read."""

import io
import os
import struct
import time
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from legogcd.errors import UnreadableImage
from legogcd.vision import decode as images_module
from legogcd.vision.decode import read_rgb, resize_shorter


def smooth(height=64, width=48):
    """A picture without sharp edges, so that lossy formats keep it."""
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([x * 255 // width, y * 255 // height, (x + y) * 255 // (height + width)], axis=-1).astype(np.uint8)


@pytest.fixture
def save(tmp_path):
    def write(image, name="picture.png", **options):
        picture = image if isinstance(image, Image.Image) else Image.fromarray(image)
        picture.save(tmp_path / name, **options)
        return tmp_path / name

    return write


def reason(path, **options):
    with pytest.raises(UnreadableImage) as caught:
        read_rgb(path, **options)
    assert str(caught.value) == caught.value.reason
    return caught.value.reason


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("a.png", {}, 0),
        ("a.bmp", {}, 0),
        ("a.ppm", {}, 0),
        ("a.tif", {}, 0),
        ("a.tiff", {"compression": "tiff_lzw"}, 0),
        ("a.webp", {"lossless": True}, 0),
        ("a.jp2", {"irreversible": False}, 0),
        ("a.jpg", {"quality": 95, "subsampling": 0}, 6),
        ("a.gif", {}, 24),
    ],
)
def test_every_common_format(save, name, options, error):
    picture = smooth()
    pixels = read_rgb(save(picture, name, **options))
    assert pixels.dtype == np.uint8
    assert pixels.shape == (64, 48, 3)
    assert np.abs(pixels.astype(int) - picture).max() <= error


def test_content_counts_not_the_ending(save, tmp_path):
    save(smooth(), "a.png").rename(tmp_path / "a.jpg")
    np.testing.assert_array_equal(read_rgb(tmp_path / "a.jpg"), smooth())


def test_black_and_white_and_grey(save):
    grey = smooth()[..., 0]
    np.testing.assert_array_equal(read_rgb(save(grey)), np.stack([grey] * 3, axis=-1))
    bits = read_rgb(save(Image.fromarray(grey).convert("1", dither=Image.Dither.NONE)))
    np.testing.assert_array_equal(bits[..., 1], np.where(grey > 127, 255, 0))


@pytest.mark.parametrize("name", ["deep.png", "deep.tif"])
def test_sixteen_bits_are_scaled_not_clipped(save, name):
    deep = np.arange(0, 65536, 16, dtype=np.uint16).reshape(64, 64)
    np.testing.assert_array_equal(read_rgb(save(deep, name))[..., 0], deep >> 8)


def test_big_endian_and_floating_tiffs(save, tmp_path):
    ramp = np.linspace(0, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
    for scale, offset in [(1, 0), (255, 0), (1000, -300)]:
        pixels = read_rgb(save(ramp * np.float32(scale) + np.float32(offset), "float.tif"))
        assert np.abs(pixels[..., 2] - ramp * 255).max() <= 0.51
    deep = np.arange(0, 65536, 16, dtype=np.uint16).reshape(64, 64)
    (tmp_path / "deep.pgm").write_bytes(b"P5 64 64 65535\n" + deep.astype(">u2").tobytes())
    np.testing.assert_array_equal(read_rgb(tmp_path / "deep.pgm")[..., 0], deep >> 8)


def test_cmyk(save):
    inks = Image.merge("CMYK", [Image.new("L", (8, 8), ink) for ink in (255, 0, 0, 0)])
    assert read_rgb(save(inks, "cmyk.tif"))[0, 0].tolist() == [0, 255, 255]
    assert np.abs(read_rgb(save(inks, "cmyk.jpg", quality=95))[4, 4].astype(int) - [0, 255, 255]).max() < 8


def test_transparency_of_every_kind_lies_on_white(save):
    rgba = np.zeros((4, 4, 4), np.uint8)
    rgba[:, :2] = [200, 100, 0, 255]
    rgba[:, 2] = [200, 100, 0, 51]
    expected = np.array([[200, 100, 0], [200, 100, 0], [244, 224, 204], [255, 255, 255]])
    np.testing.assert_array_equal(read_rgb(save(rgba))[0], expected)

    grey_alpha = Image.fromarray(np.array([[[0, 255], [0, 0]]], np.uint8), "LA")
    assert read_rgb(save(grey_alpha))[0].tolist() == [[0, 0, 0], [255, 255, 255]]

    palette = Image.fromarray(np.array([[0, 1, 2]], np.uint8), "P")
    palette.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    assert read_rgb(save(palette))[0].tolist() == [[255, 0, 0], [0, 255, 0], [0, 0, 255]]
    assert read_rgb(save(palette, transparency=1))[0].tolist() == [[255, 0, 0], [255, 255, 255], [0, 0, 255]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        per_color = read_rgb(save(palette, transparency=bytes([255, 0, 51])))
    assert per_color[0].tolist() == [[255, 0, 0], [255, 255, 255], [204, 204, 255]]

    keyed = Image.fromarray(np.array([[[1, 2, 3], [4, 5, 6]]], np.uint8))
    assert read_rgb(save(keyed, transparency=(4, 5, 6)))[0].tolist() == [[1, 2, 3], [255, 255, 255]]


@pytest.mark.parametrize("name", ["turned.jpg", "turned.png", "turned.tif", "turned.webp"])
@pytest.mark.parametrize(
    ("orientation", "upright"),
    [
        (1, lambda a: a),
        (2, lambda a: a[:, ::-1]),
        (3, lambda a: a[::-1, ::-1]),
        (4, lambda a: a[::-1]),
        (5, lambda a: a.swapaxes(0, 1)),
        (6, lambda a: np.rot90(a, -1)),
        (7, lambda a: a[::-1, ::-1].swapaxes(0, 1)),
        (8, lambda a: np.rot90(a)),
    ],
)
def test_photos_are_turned_as_their_camera_noted(save, name, orientation, upright):
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"quality": 95, "subsampling": 0} if name.endswith("jpg") else {"lossless": True}
    pixels = read_rgb(save(smooth(), name, exif=exif, **options))
    expected = upright(smooth())
    assert pixels.shape == expected.shape
    assert np.abs(pixels.astype(int) - expected).max() < 10


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
def test_broken_exif_does_not_lose_the_picture(save):
    path = save(smooth(), "a.jpg", quality=95, exif=b"Exif\0\0MM\0*\xff\xff\xff\xff" + b"\xff" * 40)
    assert read_rgb(path).shape == (64, 48, 3)


def test_an_animation_gives_its_first_frame(save):
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "lime", "blue")]
    for name in ("moving.gif", "moving.png", "moving.webp"):
        path = save(frames[0], name, save_all=True, append_images=frames[1:], lossless=True)
        assert read_rgb(path)[0, 0].tolist() == [255, 0, 0]


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.gif", "a.bmp", "a.tif", "a.webp"])
def test_truncated_files_are_refused(save, name):
    path = save(np.random.default_rng(0).integers(256, size=(64, 64, 3), dtype=np.uint8), name)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert reason(path) in ("truncated", "damaged", "not an image")
    assert reason(path, size_hint=4) in ("truncated", "damaged", "not an image")
    if name == "a.jpg":
        assert reason(path) == "truncated"


def test_other_files_say_what_they_are(tmp_path, monkeypatch):
    (tmp_path / "zero.jpg").touch()
    (tmp_path / "text.png").write_text("no picture at all, only words")
    (tmp_path / "folder.jpg").mkdir()
    (tmp_path / "vector.jpg").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    os.mkfifo(tmp_path / "pipe.jpg")
    assert reason(tmp_path / "zero.jpg") == "empty file"
    assert reason(tmp_path / "text.png") == "not an image"
    assert reason(tmp_path / "vector.jpg") == "not an image"
    assert reason(tmp_path / "folder.jpg") == "is a folder"
    assert reason(tmp_path / "pipe.jpg") == "not a regular file"
    assert reason(tmp_path / "missing.jpg") == "file not found"

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(images_module, "open", refuse, raising=False)
    assert reason(tmp_path / "text.png") == "permission denied"


@given(st.integers(0, 10_000), st.sampled_from(["JPEG", "PNG", "GIF", "TIFF", "WEBP", "BMP", "PPM"]))
@settings(max_examples=60, deadline=None)
def test_damage_of_any_kind_is_an_unreadable_image_or_a_picture(tmp_path_factory, seed, kind):
    random = np.random.default_rng(seed)
    buffer = io.BytesIO()
    Image.fromarray(smooth()).save(buffer, kind)
    content = bytearray(buffer.getvalue())
    for place in random.integers(len(content), size=8):
        content[place] = random.integers(256)
    path = tmp_path_factory.mktemp("damaged") / "a.img"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pixels, why = read_rgb(path, size_hint=8), ""
        except UnreadableImage as unreadable:
            pixels, why = None, unreadable.reason
    assert 0 < len(why) < 40 if pixels is None else pixels.shape[2] == 3


def flat_png(width, height):
    """A one-bit PNG of any size in a few kilobytes, as a decompression bomb would be."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\0" + bytes((width + 7) // 8)
    packer = zlib.compressobj(1)
    data = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_pictures_beyond_pillows_limits_are_read_and_beyond_ours_refused(tmp_path, monkeypatch):
    limit = 1_000
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    monkeypatch.setattr(images_module, "_LARGE", limit)
    monkeypatch.setattr(images_module, "MAX_PIXELS", 50_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("a.png", "a.tif", "a.gif", "a.jpg"):
            Image.fromarray(smooth(100, 120)).save(tmp_path / name)
            assert read_rgb(tmp_path / name, size_hint=10).shape[2] == 3
        (tmp_path / "bomb.png").write_bytes(flat_png(300, 200))
        assert reason(tmp_path / "bomb.png") == "too large (0 megapixels, limit 0)"
    assert limit == Image.MAX_IMAGE_PIXELS


def test_a_bomb_is_refused_before_it_is_decoded(tmp_path, monkeypatch):
    (tmp_path / "bomb.png").write_bytes(flat_png(100_000, 3_000))
    monkeypatch.setattr(images_module, "_decode", None)
    assert reason(tmp_path / "bomb.png") == "too large (300 megapixels, limit 256)"


def test_pillows_guard_is_restored_after_a_large_damaged_file(save, monkeypatch):
    monkeypatch.setattr(images_module, "_LARGE", 100)
    path = save(np.random.default_rng(0).integers(256, size=(64, 64, 3), dtype=np.uint8))
    path.write_bytes(path.read_bytes()[:4000])
    before = Image.MAX_IMAGE_PIXELS
    reason(path)
    assert before == Image.MAX_IMAGE_PIXELS is not None


@pytest.mark.parametrize("name", ["big.jpg", "big.png", "big.tif"])
@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "P"])
def test_large_pictures_are_reduced_while_read_but_look_the_same(save, name, mode):
    if name.endswith("jpg") and mode in ("RGBA", "P"):
        return
    picture = Image.fromarray(smooth(1200, 1600)).convert(mode)
    path = save(picture, name)
    pixels = read_rgb(path, size_hint=64)
    assert 128 <= min(pixels.shape[:2]) < 256
    expected = resize_shorter(read_rgb(path), 64)
    assert np.abs(resize_shorter(pixels, 64).astype(int) - expected).max() <= 6


def test_jpegs_are_decoded_at_a_fraction(save, monkeypatch):
    path = save(smooth(1600, 2400), "big.jpg")
    sizes = []
    monkeypatch.setattr(images_module, "_eight_bit_mode", lambda image: sizes.append(image.size) or image)
    read_rgb(path, size_hint=100)
    assert sizes == [(300, 200)]


def test_small_pictures_are_not_touched_by_the_hint(save):
    np.testing.assert_array_equal(read_rgb(save(smooth()), size_hint=32), smooth())


@pytest.mark.parametrize(("shape", "expected"), [((2, 100), (2, 32)), ((1000, 3), (48, 3)), ((3, 48), (3, 48))])
def test_very_long_pictures_lose_their_ends(save, shape, expected):
    height, width = shape
    picture = np.random.default_rng(0).integers(256, size=(*shape, 3), dtype=np.uint8)
    top, left = (height - expected[0]) // 2, (width - expected[1]) // 2
    middle = picture[top : top + expected[0], left : left + expected[1]]
    np.testing.assert_array_equal(read_rgb(save(picture)), middle)
    np.testing.assert_array_equal(read_rgb(picture), middle)


def test_threads_read_what_one_reads(save, tmp_path, monkeypatch):
    monkeypatch.setattr(images_module, "_LARGE", 60_019_500)  # half of them wait for each other
    pictures = [smooth(40 + i, 50 + i) for i in range(16)]
    paths = [save(picture, f"{i}.png") for i, picture in enumerate(pictures)]
    with ThreadPoolExecutor(8) as pool:
        for picture, pixels in zip(pictures * 4, pool.map(read_rgb, paths * 4), strict=True):
            np.testing.assert_array_equal(pixels, picture)
    assert Image.MAX_IMAGE_PIXELS is not None


def test_large_pictures_are_decoded_one_at_a_time(save, monkeypatch):
    inside, most = [0], [0]

    def decode(image, size_hint):
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.01)
        inside[0] -= 1
        return np.zeros((1, 1, 3), np.uint8)

    monkeypatch.setattr(images_module, "_decode", decode)
    path = save(smooth())
    monkeypatch.setattr(images_module, "_LARGE", 10)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read_rgb, [path] * 12))
    assert most == [1]


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 64))
@settings(max_examples=40, deadline=None)
def test_the_shorter_side_is_as_asked_and_the_longer_in_proportion(height, width, size):
    resized = resize_shorter(np.zeros((height, width, 3), np.uint8), size)
    short, long = sorted((height, width))
    assert sorted(resized.shape[:2]) == [size, int(size * long / short)]
    assert (resized.shape[0] <= resized.shape[1]) == (height <= width) or resized.shape[0] == resized.shape[1]


@given(st.integers(4, 200), st.integers(4, 200), st.integers(4, 96), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_resizing_is_pillows_bicubic_to_a_level_or_two(height, width, size, seed):
    noise = np.random.default_rng(seed).integers(70, 186, size=(height, width, 3), dtype=np.uint8)  # nothing clips
    resized = resize_shorter(noise, size)
    expected = Image.fromarray(noise).resize(resized.shape[1::-1], Image.Resampling.BICUBIC)
    difference = np.abs(resized.astype(int) - np.asarray(expected))
    assert difference.max() <= 2
    assert difference.mean() < 0.5


def test_resizing_takes_arrays_and_pictures_and_leaves_the_right_size_alone():
    picture = smooth(30, 41)
    np.testing.assert_array_equal(resize_shorter(Image.fromarray(picture), 17), resize_shorter(picture, 17))
    same = resize_shorter(picture, 30)
    np.testing.assert_array_equal(same, picture)
    assert same.flags.writeable


def test_shrinking_averages_instead_of_skipping_pixels():
    checks = np.indices((256, 256)).sum(axis=0)[..., None] % 2 * np.full(3, 255)
    shrunk = resize_shorter(checks.astype(np.uint8), 32).astype(int)
    assert np.abs(shrunk - 127.5).max() < 4
