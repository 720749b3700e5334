"""A data set is a reader and a catalog entry: listed, checked, split and trained on, with nothing else touched."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from legogcd.collection import ImageFiles, find_images
from legogcd.paper.datasets import DATASETS, DatasetSplit, PaperDataset, SplitName
from legogcd.paper.datasets.dataset import Fault
from legogcd.paper.splits import old_and_new, paper_split

COLORS = ("blue", "green", "red", "yellow")


def read_colors(home: Path, split: SplitName, fault: Fault) -> DatasetSplit:
    """Pictures in one folder per color; the last two of each are the test split."""
    found = find_images(home).names
    names = tuple(name for name in found if (int(Path(name).stem) >= 6) == (split == "test"))
    classes = np.array([COLORS.index(name.split("/")[0]) for name in names])
    return DatasetSplit(ImageFiles(home, names), classes, COLORS)


@pytest.fixture
def colors(pictures: Path, monkeypatch: pytest.MonkeyPatch) -> PaperDataset:
    entry = PaperDataset(
        name="colors",
        title="Four colors",
        n_classes=4,
        train_images=24,
        test_images=8,
        size="1 MB",
        license="made by a test",
        source="nowhere",
        layout="pictures/, one folder per color",
        folders=("pictures",),
        marks=("blue",),
        read=read_colors,
        n_old=3,
        recipe="cub",
    )
    monkeypatch.setitem(DATASETS, entry.name, entry)
    old_and_new.cache_clear()
    return entry


def test_it_is_listed_checked_and_split(colors: PaperDataset, pictures: Path, run_cli: Callable[..., Any]) -> None:
    root = pictures.parent
    listed = run_cli("datasets", "--root", root).stdout
    assert "Four colors" in listed
    assert "made by a test" in listed
    checked = run_cli("datasets", "check", "colors", "--root", root)
    assert checked.exit_code == 0, checked.stdout
    assert "split: 9 labelled, 15 unlabelled images; 3 Old of 4 classes" in checked.stdout
    assert run_cli("datasets", "split", "colors", "--root", root, "--out", root / "split.json").exit_code == 0
    assert len(json.loads((root / "split.json").read_text())["labelled"]) == 9
    split = paper_split("colors", root)
    assert split.collection.known == COLORS[:3]
    assert len(split.test.collection.images) == 8


def test_half_of_the_classes_are_old_if_nobody_says_how_many(colors: PaperDataset, monkeypatch) -> None:
    monkeypatch.setitem(DATASETS, "half", PaperDataset(**{**vars(colors), "name": "half", "n_old": None}))
    assert old_and_new("half") == ((0, 1), (2, 3))
    drawn = PaperDataset(**{**vars(colors), "name": "drawn", "old_drawn": True})
    monkeypatch.setitem(DATASETS, "drawn", drawn)
    old = np.random.RandomState(0).choice(4, 3, replace=False).tolist()
    assert old_and_new("drawn") == (tuple(old), tuple(set(range(4)) - set(old)))


def test_it_is_trained_on_and_gets_its_rows(
    colors: PaperDataset, pictures: Path, tiny_vit: Path, tmp_path: Path, run_cli: Callable[..., Any]
) -> None:
    fixed = ["--backbone", tiny_vit, "--image-size", 32, "--views", 2, "--epochs", 1, "--cache", tmp_path / "cache"]
    wanted = ["reproduce", "colors", "--root", pictures.parent, "--method", "kmeans,legogcd", "--seeds", 1]
    done = run_cli(*wanted, *fixed, "--out", tmp_path / "results", "--device", "cpu")
    assert done.exit_code == 0, done.stderr
    assert "Four colors" in done.stdout
    rows = (tmp_path / "results" / "reproduce.csv").read_text().splitlines()
    assert [row.split(",")[:2] for row in rows[1:]] == [["colors", "kmeans"], ["colors", "legogcd"]]
