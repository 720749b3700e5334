"""Small pictures inside the page, as large as its size allows."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from legogcd.collection import Images
from legogcd.errors import UnreadableImage
from legogcd.vision.small_picture import small_picture
from legogcd.vision.views.encode import map_ahead

BUDGET = 26_000_000
"""Bytes of base64 in the page: with names, numbers and markup of 10,000 images it stays below 30 MB."""

_SIZES = (128, 112, 96, 80, 64, 48)
_LARGEST_OTHER = 96  # of pictures that are not featured
_LARGE_PICTURE = 12_000  # bytes of base64 that hardly any picture passes at the largest size
_PROBES = 48
_QUALITY = 62

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Thumbnails:
    """WebP pictures in base64 by row, empty where there is none, and the reasons by count."""

    pictures: list[str]
    unreadable: int
    left_out: int  # for want of room


def make_thumbnails(
    images: Images,
    rows: Sequence[int],
    featured: Sequence[int],
    budget: int = BUDGET,
    progress: Progress = lambda done: None,
) -> Thumbnails:
    """One thumbnail for each of ``rows`` of ``images``, larger for the positions in ``featured``, within a budget.

    Where even the smallest are too many, featured ones go first, then the others in an even spread.
    """
    shown = sorted(set(featured))
    rest = np.setdiff1d(np.arange(len(rows)), shown)
    large, small = _choose_sizes(images, rows, shown, rest, budget)
    spread = np.argsort(np.arange(len(rest)) * 0.618033988749895 % 1, kind="stable")  # any first part of it is even
    order = [*shown, *rest[spread].tolist()]
    large_ones = set(shown)
    pictures, unreadable, left_out, used = [""] * len(rows), 0, 0, 0

    def work(position: int) -> str | None:
        return _thumbnail(images, rows[position], large if position in large_ones else small)

    for done, (position, picture) in enumerate(zip(order, map_ahead(work, order, ahead=32), strict=True), start=1):
        if picture is None:
            unreadable += 1
        elif used + len(picture) > budget:
            left_out += 1
        else:
            pictures[position] = picture
            used += len(picture)
        progress(done)
    return Thumbnails(pictures, unreadable, left_out)


def _choose_sizes(
    images: Images, rows: Sequence[int], shown: Sequence[int], rest: np.ndarray, budget: int
) -> tuple[int, int]:
    """The largest sizes whose expected bytes fit, judged by a few pictures; the others' never above the featured's."""
    if len(rows) * _LARGE_PICTURE <= budget:
        return _SIZES[0], _LARGEST_OTHER
    probes = np.unique(np.linspace(0, len(rows) - 1, min(_PROBES, len(rows))).astype(int))

    def mean_bytes(size: int) -> float:
        made = [_thumbnail(images, rows[probe], size) for probe in probes]
        return float(np.mean([len(picture or "") for picture in made])) if made else 0.0

    expected = {size: mean_bytes(size) for size in (_SIZES[0], _SIZES[-1])}
    for size in _SIZES[1:-1]:  # between the two, bytes follow the area closely enough
        share = (size**2 - _SIZES[-1] ** 2) / (_SIZES[0] ** 2 - _SIZES[-1] ** 2)
        expected[size] = (1 - share) * expected[_SIZES[-1]] + share * expected[_SIZES[0]]
    for large in _SIZES:
        for small in [size for size in _SIZES if size <= min(large, _LARGEST_OTHER)]:
            if len(shown) * expected[large] + len(rest) * expected[small] <= 0.88 * budget and small >= large // 2:
                return large, small
    return _SIZES[-1], _SIZES[-1]


def _thumbnail(images: Images, row: int, size: int) -> str | None:
    try:
        return base64.b64encode(small_picture(images.item(row), size, _QUALITY)).decode()
    except UnreadableImage:
        return None
