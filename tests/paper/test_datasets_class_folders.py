"""Herbarium 19, ImageNet-100 and ImageNet-1k: one folder a class."""

from pathlib import Path

import numpy as np
import pytest
from dataset_trees import link_images, wordnet_ids, write_class_folders

from legogcd.errors import UserError
from legogcd.paper.datasets import DATASETS, imagenet100_classes

HERBARIUM, IMAGENET100, IMAGENET1K = DATASETS["herbarium_19"], DATASETS["imagenet100"], DATASETS["imagenet1k"]
FOLDERS = [str(i) for i in range(683)]


@pytest.fixture
def herbarium(tmp_path: Path) -> Path:
    home = tmp_path / "herbarium_19"
    train = {"2": ["00001.jpg", "00000.jpg"], "10": ["00000.jpg"], "1": ["00000.jpg"]}
    write_class_folders(home / "small-train", FOLDERS, train)
    write_class_folders(home / "small-validation", FOLDERS, {"682": ["00000.jpg"], "0": ["00000.jpg"]})
    return home


def test_herbarium_folders_are_sorted_as_strings(herbarium: Path) -> None:
    train, test = HERBARIUM.load(herbarium.parent, "train"), HERBARIUM.load(herbarium, "test")
    assert train.class_names[:5] == ("0", "1", "10", "100", "101")
    assert train.images.names == (
        "small-train/1/00000.jpg",
        "small-train/10/00000.jpg",
        "small-train/2/00000.jpg",
        "small-train/2/00001.jpg",
    )
    place = {name: i for i, name in enumerate(sorted(FOLDERS))}
    assert train.classes.tolist() == [place["1"], place["10"], place["2"], place["2"]] == [1, 2, 112, 112]
    assert test.classes.tolist() == [place["0"], place["682"]]


def test_folder_order_is_by_name_not_by_path(tmp_path: Path) -> None:
    """'a-b/x' sorts before 'a/x' as a path, but the folder 'a' comes before 'a-b'."""
    folders = [*(f"z{i:03d}" for i in range(681)), "a-b", "a"]
    write_class_folders(tmp_path / "small-train", folders, {"a": ["1.jpg"], "a-b": ["1.jpg"]})
    train = HERBARIUM.load(tmp_path, "train")
    assert train.images.names == ("small-train/a/1.jpg", "small-train/a-b/1.jpg")
    assert train.classes.tolist() == [0, 1]


def test_herbarium_missing_folders_are_named(herbarium: Path) -> None:
    (herbarium / "small-validation/17").rmdir()
    with pytest.raises(UserError, match="small-validation/17' is missing"):
        HERBARIUM.load(herbarium, "test")
    (herbarium / "small-validation").rename(herbarium / "validation")
    with pytest.raises(UserError, match="small-validation' is missing"):
        HERBARIUM.load(herbarium, "test")
    (herbarium / "small-train/17").rmdir()
    with pytest.raises(UserError, match="small-train' has 682 class folders; expected all 683") as raised:
        HERBARIUM.load(herbarium, "train")
    assert "\n" not in str(raised.value)


def test_a_class_of_the_test_split_alone_is_named(herbarium: Path) -> None:
    link_images(herbarium / "small-validation", ["683/0.jpg"])
    with pytest.raises(UserError, match="small-validation/683' is no class of small-train"):
        HERBARIUM.load(herbarium, "test")


def test_the_hundred_classes_are_the_papers_draw() -> None:
    np.random.seed(0)
    legacy = np.sort(np.random.choice(range(1000), 100, replace=False))
    assert imagenet100_classes() == legacy.tolist()
    assert imagenet100_classes()[:10] == [1, 14, 27, 31, 45, 55, 77, 103, 108, 141]


@pytest.fixture(scope="module")
def imagenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All thousand folders; two images in the classes 0, 1, 2, 14 and 999."""
    home = tmp_path_factory.mktemp("imagenet-1k")
    ids = wordnet_ids()
    train = {ids[i]: [f"{ids[i]}_2.JPEG", f"{ids[i]}_10.JPEG", "notes.txt"] for i in (0, 1, 2, 14, 999)}
    write_class_folders(home / "train", reversed(ids), train)
    write_class_folders(home / "val", ids, {ids[14]: ["ILSVRC2012_val_00000007.JPEG"], ids[999]: ["a.JPEG"]})
    return home


def test_imagenet1k_is_all_wordnet_ids_sorted(imagenet: Path) -> None:
    train, test = IMAGENET1K.load(imagenet, "train"), IMAGENET1K.load(imagenet, "test")
    ids = wordnet_ids()
    assert train.class_names == tuple(ids)
    assert train.classes.tolist() == [0, 0, 1, 1, 2, 2, 14, 14, 999, 999]
    assert train.images.names[:2] == (f"train/{ids[0]}/{ids[0]}_10.JPEG", f"train/{ids[0]}/{ids[0]}_2.JPEG")
    assert test.classes.tolist() == [14, 999]


def test_imagenet100_keeps_the_drawn_classes_with_new_ids(imagenet: Path) -> None:
    train, test = IMAGENET100.load(imagenet, "train"), IMAGENET100.load(imagenet, "test")
    ids = wordnet_ids()
    assert train.class_names[:3] == (ids[1], ids[14], ids[27])
    assert train.classes.tolist() == [0, 0, 1, 1]
    assert test.classes.tolist() == [1]
    assert test.images.names == (f"val/{ids[14]}/ILSVRC2012_val_00000007.JPEG",)


def test_another_imagenet100_is_refused(tmp_path: Path) -> None:
    ids = wordnet_ids(100)
    write_class_folders(tmp_path / "train", ids, {ids[0]: ["a.JPEG"]})
    with pytest.raises(UserError, match="train' has 100 class folders; expected all 1000: their sorted order decides"):
        IMAGENET100.load(tmp_path, "train")


def test_loose_validation_images_and_a_missing_val_are_told(tmp_path: Path) -> None:
    ids = wordnet_ids()
    write_class_folders(tmp_path / "train", ids, {ids[0]: ["a.JPEG"]})
    with pytest.raises(UserError, match="val' is missing"):
        IMAGENET1K.load(tmp_path, "test")
    link_images(tmp_path / "val", ["ILSVRC2012_val_00000001.JPEG"])
    with pytest.raises(UserError, match="lie loose in it; sort them into one folder per class"):
        IMAGENET1K.load(tmp_path, "test")


def test_a_split_without_images_is_refused(tmp_path: Path) -> None:
    write_class_folders(tmp_path / "train", wordnet_ids(), {})
    with pytest.raises(UserError, match="has no train image"):
        IMAGENET1K.load(tmp_path, "train")
