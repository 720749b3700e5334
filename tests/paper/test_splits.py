"""The paper's protocol: Old and New classes, the labelled draw, and counts equal to the published ones."""

import json
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from dataset_trees import (
    VARIANTS,
    spread,
    write_aircraft,
    write_cars,
    write_cifar10,
    write_cifar100,
    write_class_folders,
    write_cub,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from legogcd.evaluation import scoring
from legogcd.paper.datasets import DATASETS
from legogcd.paper.datasets.check import check
from legogcd.paper.published import published
from legogcd.paper.splits import PaperSplit, labelled_rows, old_and_new, paper_split, unlike_published


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder that is removed at once: full-size trees have tens of thousands of files."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.parametrize("name", list(DATASETS))
def test_old_and_new_partition_the_classes_as_published(name: str) -> None:
    old, new = old_and_new(name)
    sizes = published()["sizes"][name]
    assert sorted([*old, *new]) == list(range(sizes["total"]))
    assert len(old) == sizes["old"]
    assert DATASETS[name].n_classes == sizes["total"]


def test_the_lists_begin_as_the_protocol_says() -> None:
    assert old_and_new("cub")[0][:5] == (150, 70, 34, 178, 199)
    assert old_and_new("cub")[1][:3] == (29, 110, 3)  # hard, then medium, then easy
    assert old_and_new("stanford_cars")[0][:5] == (1, 11, 25, 38, 46)
    assert old_and_new("fgvc_aircraft")[0][-3:] == (92, 95, 99)
    assert old_and_new("fgvc_aircraft")[1][-1] == 89
    assert old_and_new("cifar100")[0] == tuple(range(80))
    assert old_and_new("imagenet100")[0] == tuple(range(50))
    assert old_and_new("imagenet1k")[0] == tuple(range(500))


def test_herbariums_old_classes_are_the_legacy_draw() -> None:
    np.random.seed(0)
    legacy = np.random.choice(range(683), 341, replace=False)
    old, new = old_and_new("herbarium_19")
    assert old == tuple(legacy.tolist())
    assert old[:5] == (113, 378, 303, 504, 301)
    assert new == tuple(sorted(new))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=60), st.sets(st.integers(0, 6)))
def test_the_draw_is_half_of_the_old_images_by_the_legacy_generator(classes: list[int], old: set[int]) -> None:
    kept = [row for row, number in enumerate(classes) if number in old]
    np.random.seed(0)
    places = np.random.choice(range(len(kept)), int(0.5 * len(kept)), replace=False) if kept else []
    drawn = labelled_rows(np.array(classes, dtype=np.int64), sorted(old))
    assert drawn.tolist() == sorted(kept[i] for i in places)


def cifar10(root: Path) -> None:
    """Two training images of each class, in a fixed shuffled order, and a test image each."""
    classes = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 2)).tolist()
    batches = {f"data_batch_{i}": classes[4 * i - 4 : 4 * i] for i in range(1, 6)}
    write_cifar10(root / "cifar-10-batches-bin", batches | {"test_batch": list(range(10))})


def test_cifar10_is_labelled_by_file_order(root: Path) -> None:
    cifar10(root)
    collection, truth, test = paper_split("cifar10", root)
    train = DATASETS["cifar10"].load(root, "train")
    kept = [row for row, number in enumerate(train.classes) if number < 5]
    np.random.seed(0)
    labelled = {kept[i] for i in np.random.choice(range(10), 5, replace=False)}
    assert set(np.flatnonzero(collection.labelled)) == labelled
    assert [collection.labels[row] for row in sorted(labelled)] == [train.classes[row] for row in sorted(labelled)]
    assert collection.known == ("airplane", "automobile", "bird", "cat", "deer")
    assert truth.encode(collection)[kept].tolist() == train.classes[kept].tolist()
    assert truth.n_classes(collection) == 10
    assert not test.collection.labelled.any()
    assert test.collection.known == collection.known
    assert [test.truth.labels[name] for name in test.collection.images.names][:2] == ["airplane", "automobile"]


def test_held_out_images_can_be_scored_as_they_are(root: Path) -> None:
    cifar10(root)
    split = paper_split("cifar10", root)
    swapped = np.array([1, 0, 2, 3, 4, 9, 8, 7, 6, 5])  # any renaming of clusters is right
    scores = scoring(split.test.truth)(split.test.collection, swapped)
    assert (scores["all"], scores["old"], scores["new"]) == (1.0, 1.0, 1.0)


def test_class_ids_follow_the_old_list_not_the_official_order(root: Path) -> None:
    old, new = old_and_new("cub")
    write_cub(root, [(number + 1, True) for number in [*sorted(old), *new] * 4] + [(1, False)])
    split = paper_split("cub", root)
    assert split.collection.known == tuple(f"{number + 1:03d}.Bird_{number + 1}" for number in old)
    assert len(set(split.collection.known)) == 100
    for row in np.flatnonzero(split.collection.labelled):
        name = split.collection.images.names[row].split("/")[1]
        assert (
            split.collection.known[split.collection.labels[row]]
            == name
            == split.truth.labels[split.collection.images.names[row]]
        )
    codes = split.truth.encode(split.collection)
    assert {split.collection.images.names[row].split("/")[1] for row in np.flatnonzero(codes < 100)} == set(
        split.collection.known
    )
    assert split.collection.notes == (
        "the split has 200 labelled and 600 unlabelled images; published: 1498 and 4496; "
        "see `legogcd datasets check cub`",
    )


def test_an_old_class_without_a_labelled_image_stays_known(root: Path) -> None:
    write_cub(root, [(number + 1, True) for number in range(200)] + [(1, False)])
    collection = paper_split("cub", root).collection
    assert collection.n_known == 100
    assert min(collection.counts().values()) == 0
    assert collection.labelled.sum() == 50


def test_names_given_twice_are_told_apart(root: Path) -> None:
    write_cars(root, list(range(1, 197)) * 2, [1])
    names = np.empty((1, 196), dtype=object)
    names[0, :] = ["the same car"] * 196
    savemat(root / "devkit/cars_meta.mat", {"class_names": names})
    collection = paper_split("stanford_cars", root).collection
    assert len(set(collection.known)) == 98
    assert collection.known[0] == "the same car (1)"


def old_first_counts(name: str, n_old_images: int) -> list[int]:
    """Training images of each class, so that the totals are the official ones.

    The true number of images of each class is not to be had here; only their totals decide the counts.
    """
    old, new = old_and_new(name)
    total = DATASETS[name].train_images
    counts = np.empty(len(old) + len(new), dtype=int)
    counts[list(old)] = spread(n_old_images, len(old))
    counts[list(new)] = spread(total - n_old_images, len(new))
    return counts.tolist()


def shuffled(counts: list[int]) -> list[int]:
    return np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts)).tolist()


def full_cifar100(root: Path) -> None:
    write_cifar100(root, shuffled([500] * 100), shuffled([100] * 100))


def full_cub(root: Path) -> None:
    train, test = old_first_counts("cub", 2997), spread(5794, 200)  # 30 or 29 a class
    rows = [(number + 1, split) for number in range(200) for split in [True] * train[number] + [False] * test[number]]
    write_cub(root, rows)


def full_cars(root: Path) -> None:
    train = shuffled(old_first_counts("stanford_cars", 4000))
    write_cars(root, [number + 1 for number in train], [number + 1 for number in shuffled(spread(8041, 196))])


def full_aircraft(root: Path) -> None:
    splits = [shuffled(old_first_counts("fgvc_aircraft", 3333)), shuffled(spread(3333, 100))]
    rows = [[(f"{k}{i:06d}", VARIANTS[number]) for i, number in enumerate(split)] for k, split in enumerate(splits, 1)]
    write_aircraft(root, *rows)


def full_herbarium(root: Path) -> None:
    folders = sorted(map(str, range(683)))
    for name, counts in (
        ("small-train", old_first_counts("herbarium_19", 17739)),
        ("small-validation", spread(2679, 683)),
    ):
        files = {folder: [f"{i:05d}.jpg" for i in range(count)] for folder, count in zip(folders, counts, strict=True)}
        write_class_folders(root / name, folders, files)


FULL = {
    "cifar100": full_cifar100,
    "cub": full_cub,
    "stanford_cars": full_cars,
    "fgvc_aircraft": full_aircraft,
    "herbarium_19": full_herbarium,
}


@pytest.mark.parametrize("name", list(FULL))
def test_full_size_trees_give_the_published_counts(root: Path, name: str) -> None:
    FULL[name](root)
    assert check(DATASETS[name], root).faults == ()
    split = paper_split(name, root)
    assert isinstance(split, PaperSplit)
    sizes, labelled = published()["sizes"][name], split.collection.labelled
    assert (int(labelled.sum()), int((~labelled).sum())) == (sizes["labelled"], sizes["unlabelled"])
    assert (split.collection.n_known, split.truth.n_classes(split.collection)) == (sizes["old"], sizes["total"])
    assert len(split.test.collection) == DATASETS[name].test_images
    assert split.collection.notes == ()
    assert not split.collection.check(sizes["total"])


@pytest.mark.parametrize(("name", "per_class"), [("cifar10", 5000), ("imagenet100", 1274), ("imagenet1k", 1281)])
def test_counts_of_the_larger_sets_by_their_class_sizes_alone(name: str, per_class: int) -> None:
    """Their pictures would be too many for a test; 1,274 and 1,281 a class are the published means."""
    old, _ = old_and_new(name)
    classes = np.repeat(np.arange(DATASETS[name].n_classes), per_class)
    labelled = len(labelled_rows(classes, old))
    assert labelled == len(old) * per_class // 2
    assert unlike_published(name, labelled, len(classes) - labelled) is None


def test_published_counts_are_exact_unless_they_are_rounded() -> None:
    assert unlike_published("cifar10", 12500, 37500) is None
    assert "published: 12500 and 37500" in (unlike_published("cifar10", 12499, 37501) or "")
    assert unlike_published("imagenet1k", 320_571, 960_596) is None
    assert "about 321000" in (unlike_published("imagenet1k", 310_000, 960_000) or "")


def test_the_lists_in_the_package_are_plain_numbers() -> None:
    lists = json.loads(files("legogcd.paper").joinpath("old_new_classes.json").read_text())
    assert set(lists) == {"cub", "stanford_cars", "fgvc_aircraft"}
    assert {len(entry["old"]) for entry in lists.values()} == {100, 98, 50}
