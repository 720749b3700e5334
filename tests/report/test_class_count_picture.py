"""The picture of an estimate: written whole, with the estimate where it says, for narrow and wide ranges."""

import numpy as np
import pytest
from PIL import Image

from legogcd.clustering.how_many.choice import Estimate
from legogcd.report.class_count_chart import draw_class_count


def estimate(numbers, best, low, high, parts=()):
    curve = [(k, float(np.exp(-(np.log(k / best) ** 2)))) for k in numbers]
    return Estimate(best, low, high, curve, "combined", "likelihood", parts)


@pytest.mark.parametrize(
    ("found", "taller"),
    [
        (estimate(range(3, 20), 8, 6, 11), False),
        (estimate([3, 10, 50, 200, 1000], 50, 10, 1000), False),
        (estimate([7], 7, 7, 7), False),
        (estimate(range(3, 20), 8, 6, 11, (estimate([8], 8, 2, 900), estimate([9], 9, 9, 9))), True),
    ],
)
def test_a_picture_of_every_kind(tmp_path, found, taller):
    draw_class_count(found, tmp_path / "new" / "count.png", "pets")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["count.png"]
    with Image.open(tmp_path / "new" / "count.png") as picture:
        width, height = picture.size
        assert width == 960
        assert (height > 540) == taller
        colors = np.asarray(picture.convert("RGB")).astype(int)
    near = np.abs(colors - (0xD5, 0x5E, 0x00)).max(axis=2) < 40
    assert near.sum(axis=0).max() > 100  # the estimate's line, from top to bottom


def test_the_interval_is_shaded_and_as_wide_as_it_is(tmp_path):
    shaded = []
    for high in (9, 14):
        draw_class_count(estimate(range(3, 20), 8, 6, high), tmp_path / "count.png", "")
        with Image.open(tmp_path / "count.png") as picture:
            row = np.asarray(picture.convert("RGB"))[40].astype(int)
        shaded.append(int(((row[:, 0] > 240) & (row[:, 2] < 210)).sum()))
    assert 2 < shaded[1] / shaded[0] < 3.2  # 8 against 3 classes
