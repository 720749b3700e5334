"""Images and labels in every form a Python user may hold them."""

import io
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset, Subset

from legogcd.collection import from_python_labels, images_and_labels
from legogcd.collection.python_inputs import only_images
from legogcd.errors import UnreadableImage, UserError
from legogcd.vision.decode import read_rgb

ROWS = 4
LABELS = ["owl", None, "hawk", "owl"]


def shade(row: int) -> np.ndarray:
    return np.full((6, 5, 3), 40 * row, np.uint8)


def packed(row: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(shade(row)).save(file, format="PNG")
    return file.getvalue()


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    for row in range(ROWS):
        (tmp_path / f"{row}.png").write_bytes(packed(row))
    return [tmp_path / f"{row}.png" for row in range(ROWS)]


class Pairs(Dataset):
    """A data set that counts how often it had to make an image."""

    def __init__(self, targets: bool = False) -> None:
        self.made = 0
        if targets:
            self.targets = [3, -1, 5, 3]

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, row: int) -> tuple[torch.Tensor, int]:
        if not 0 <= row < ROWS:
            raise IndexError(row)
        self.made += 1
        return torch.from_numpy(shade(row)).permute(2, 0, 1) / 255, [3, -1, 5, 3][row]


class Lazy:
    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, row: int) -> Image.Image:
        return Image.fromarray(shade(row))


def hub_dataset(decode: bool = True) -> datasets.Dataset:
    features = datasets.Features(
        {
            "label": datasets.ClassLabel(names=["a", "b"]),
            "image": datasets.Image(decode=decode),
            "id": datasets.Value("int32"),
        }
    )
    columns = {"label": [0, -1, 1, 0], "image": [{"bytes": packed(row), "path": None} for row in range(ROWS)]}
    return datasets.Dataset.from_dict({**columns, "id": range(ROWS)}, features=features)


def forms(paths: list[Path]) -> dict[str, object]:
    table = pd.DataFrame({"Path": list(map(str, paths)), "label": LABELS, "size": 1})
    return {
        "mapping": dict(zip(paths, LABELS, strict=True)),
        "table": table,
        "pairs": [(shade(row), label) for row, label in enumerate(LABELS)],
        "hub": hub_dataset(),
        "hub, not decoded": hub_dataset(decode=False),
        "torch": Pairs(),
        "torch with targets": Pairs(targets=True),
        "subset": Subset(Pairs(targets=True), [0, 1, 2, 3]),
        "bytes": [packed(row) for row in range(ROWS)],
        "lazy": Lazy(),
        "Pillow": [Image.fromarray(shade(row)) for row in range(ROWS)],
    }


@pytest.mark.parametrize("form", list(forms([Path("x")] * ROWS)))
def test_pixels_and_labels_are_the_same_in_every_form(paths: list[Path], form: str) -> None:
    images, labels = images_and_labels(forms(paths)[form])
    assert len(images) == ROWS
    for row in range(ROWS):
        np.testing.assert_array_equal(read_rgb(images.item(row)), shade(row))
    if form in ("bytes", "lazy", "Pillow"):
        assert labels is None
        return
    collection, _ = from_python_labels(images, labels)
    assert (collection.labels == -1).tolist() == [False, True, False, False]
    assert collection.labels[0] == collection.labels[3] != collection.labels[2]


def test_one_fingerprint_for_the_same_pixels_and_another_for_others() -> None:
    same = [only_images(form).fingerprint() for form in (Lazy(), [shade(row) for row in range(ROWS)], Pairs())]
    assert len(set(same)) == 1
    changed = [packed(row) for row in (0, 1, 2, 2)]
    assert only_images(changed).fingerprint() != only_images([packed(row) for row in range(ROWS)]).fingerprint()


def test_targets_are_read_without_making_images() -> None:
    dataset = Pairs(targets=True)
    _, labels = images_and_labels(Subset(dataset, [2, 0]))
    assert labels == [5, 3]
    assert dataset.made <= 2, "the first item alone is looked at"


def test_a_folder_and_a_csv(paths: list[Path], tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("path,label\n0.png,owl\n2.png,hawk\n3.png,owl\n")
    _, labels = images_and_labels(tmp_path, tmp_path / "labels.csv")
    assert labels == LABELS
    assert images_and_labels(tmp_path, {"0.png": 1})[1] == [1, None, None, None]
    with pytest.raises(UserError, match=r"not there: '9\.png'"):
        images_and_labels(tmp_path, {"9.png": 1})


def test_an_image_that_cannot_be_made_is_unreadable_and_no_crash() -> None:
    class Broken(Lazy):
        def __getitem__(self, row: int) -> object:
            return super().__getitem__(row) if row != 2 else "nowhere.png"

    images = only_images(Broken())
    with pytest.raises(UnreadableImage, match="file not found"):
        read_rgb(images.item(2))
    with pytest.raises(UnreadableImage, match="not an image"):
        read_rgb(only_images([packed(0), b"no image"]).item(1))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (datasets.DatasetDict({"train": hub_dataset()}), "several splits.*'train'"),
        (hub_dataset().remove_columns("image"), "no image column"),
        (pd.DataFrame({"name": ["a"], "label": ["b"]}), "no column 'path'; it has: 'name', 'label'"),
        ({}, "mapping is empty"),
        ({1: "owl"}, "path → label"),
        (packed(0), "one image's bytes was given"),
    ],
)
def test_what_is_not_understood_is_said(given: object, words: str) -> None:
    with pytest.raises(UserError, match=words):
        images_and_labels(given)
