"""Which images are one picture: versions are, other photos are not; near-linear, and told by pixels."""

import io
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from legogcd.clustering import near_duplicates
from legogcd.clustering.near_duplicates import alike_pairs, near_duplicate_sets, same_picture
from legogcd.collection import as_images
from legogcd.vision.fingerprints import fingerprints


def scene(seed: int, width: int = 320, height: int = 240) -> Image.Image:
    """A picture with things at all scales, as photos have: blobs, edges and texture."""
    random = np.random.default_rng(seed)
    layers = [
        Image.fromarray(random.integers(0, 256, (max(1, height // size), max(1, width // size), 3), np.uint8)).resize(
            (width, height), Image.Resampling.BICUBIC
        )
        for size in (80, 40, 20, 10, 5)
    ]
    mixed = sum(
        np.asarray(layer, float) * weight for layer, weight in zip(layers, (0.3, 0.25, 0.2, 0.15, 0.1), strict=True)
    )
    return Image.fromarray(np.asarray(mixed, np.uint8))


def compressed(picture: Image.Image) -> Image.Image:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=30)
    return Image.open(file).convert("RGB")


VERSIONS: dict[str, Callable[[Image.Image], Image.Image]] = {
    "compressed": compressed,
    "half as large": lambda picture: picture.resize((picture.width // 2, picture.height // 2)),
    "cropped": lambda picture: picture.crop((12, 8, picture.width - 10, picture.height - 12)),
    "brighter": lambda picture: ImageEnhance.Brightness(picture).enhance(1.2),
    "darker": lambda picture: ImageEnhance.Brightness(picture).enhance(0.6),
    "gray": lambda picture: picture.convert("L").convert("RGB"),
}


def small(*pictures: Image.Image) -> np.ndarray:
    return fingerprints(as_images([np.asarray(picture) for picture in pictures]), range(len(pictures)))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_is_the_same_picture_and_another_scene_is_not(version: str) -> None:
    for seed in range(5):
        first, second, other = small(scene(seed), VERSIONS[version](scene(seed)), VERSIONS[version](scene(seed + 100)))
        assert same_picture(first, second)
        assert same_picture(second, first)
        assert not same_picture(first, other)


def test_two_things_before_one_background_are_two_pictures() -> None:
    """What many photos of one table or bed share is their outline; the details decide."""
    background, things = np.asarray(scene(0), float), [np.asarray(scene(seed), float) for seed in (1, 2)]
    taken = []
    for thing in things:
        photo = background.copy()
        photo[60:180, 80:240] = 0.35 * thing[60:180, 80:240] + 0.65 * thing[60:180, 80:240].mean()
        taken.append(Image.fromarray(photo.astype(np.uint8)))
    assert not same_picture(*small(*taken))


def test_drawings_without_detail_are_one_picture_only_if_nothing_changed() -> None:
    """Scikit-learn's digits: eight by eight pixels, enlarged; many of a digit look alike, none is a copy."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    ones = [
        Image.fromarray((16 * digits.images[row]).clip(0, 255).astype(np.uint8)).resize(
            (64, 64), Image.Resampling.BICUBIC
        )
        for row in np.flatnonzero(digits.target == 1)[:60]
    ]
    pictures = small(*[one.convert("RGB") for one in ones])
    sets = near_duplicate_sets(np.ones((60, 1)), lambda rows: pictures[rows])
    assert sets == []
    assert same_picture(pictures[3], pictures[3])


def test_a_picture_that_cannot_be_read_is_no_duplicate() -> None:
    nothing = np.zeros((4, 48, 48), np.uint8)
    assert near_duplicate_sets(np.ones((4, 2)) / 2**0.5, lambda rows: nothing[rows]) == []


def test_only_images_with_a_neighbour_are_looked_at() -> None:
    units, asked = np.eye(6)[[0, 1, 1, 2, 3, 4]], []

    def pictures(rows: np.ndarray) -> np.ndarray:
        asked.extend(rows.tolist())
        return small(*[scene(7 if row in (1, 2) else int(row)) for row in rows])

    assert near_duplicate_sets(units, pictures) == [(1, 2)]
    assert asked == [1, 2]


def test_pairs_are_those_of_a_plain_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against all cosines at once; in cells, as large collections are searched, every planted pair is still found."""
    random = np.random.default_rng(0)
    units = random.normal(size=(900, 24)).astype(np.float32)
    units[1::3] = units[::3] + 0.1 * random.normal(size=(300, 24))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    cosine = units @ units.T - 2 * np.eye(900)
    near = np.argsort(-cosine, axis=1)[:, :8]
    plain = {(min(i, j), max(i, j)) for i in range(900) for j in near[i].tolist() if cosine[i, j] >= 0.7}
    assert {tuple(pair) for pair in alike_pairs(units).tolist()} == plain
    monkeypatch.setattr(near_duplicates, "_CELL", 100)
    searched = {tuple(pair) for pair in alike_pairs(units).tolist()}
    assert searched <= plain
    planted = {(row, row + 1) for row in range(0, 900, 3)}
    assert len(planted - searched) <= 6  # of 300: a pair on the edge of its cells may be missed


def test_memory_and_time_stay_far_below_all_pairs() -> None:
    """At 20,000 images all cosines would take 1.6 GB; cells compare a few per cent of them."""
    units = np.random.default_rng(0).normal(size=(20_000, 16)).astype(np.float32)
    compared = sum(len(seekers) * len(members) for seekers, members in near_duplicates._searches(units))
    assert compared < 0.1 * len(units) ** 2
