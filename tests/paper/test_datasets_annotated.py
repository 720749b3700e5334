"""CUB-200-2011, Stanford Cars and FGVC-Aircraft: images listed by annotation files."""

from pathlib import Path

import numpy as np
import pytest
from dataset_trees import VARIANTS, annotations, write_aircraft, write_cars, write_cub
from scipy.io import savemat

from legogcd.errors import UserError
from legogcd.paper.datasets import DATASETS, PaperDataset

CUB, CARS, AIRCRAFT = DATASETS["cub"], DATASETS["stanford_cars"], DATASETS["fgvc_aircraft"]


def fails(dataset: PaperDataset, root: Path, *parts: str, split: str = "train") -> None:
    with pytest.raises(UserError) as raised:
        dataset.load(root, split)  # type: ignore[arg-type]
    message = str(raised.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message


@pytest.fixture
def cub(tmp_path: Path) -> Path:
    """Images 1..5 of classes 2, 1, 200, 2, 1; the second and the last are for testing."""
    return write_cub(tmp_path / "CUB_200_2011", [(2, True), (1, False), (200, True), (2, True), (1, False)])


def test_cub_rows_follow_images_txt(cub: Path) -> None:
    train, test = CUB.load(cub.parent, "train"), CUB.load(cub, "test")
    assert train.images.names == (
        "images/002.Bird_2/Bird_00001.jpg",
        "images/200.Bird_200/Bird_00003.jpg",
        "images/002.Bird_2/Bird_00004.jpg",
    )
    assert train.classes.tolist() == [1, 199, 1]
    assert test.classes.tolist() == [0, 0]
    assert train.class_names == test.class_names
    assert (train.class_names[0], train.class_names[199], len(train.class_names)) == ("001.Bird_1", "200.Bird_200", 200)
    assert train.images.item(0).is_file()


def test_cub_order_is_the_files_not_the_ids(cub: Path) -> None:
    lines = (cub / "images.txt").read_text().splitlines()
    (cub / "images.txt").write_text("\r\n".join(reversed(lines)) + "\r\n\r\n")
    assert CUB.load(cub, "train").classes.tolist() == [1, 199, 1]
    assert CUB.load(cub, "train").images.names[0].endswith("Bird_00004.jpg")


@pytest.mark.parametrize("file", ["images.txt", "image_class_labels.txt", "train_test_split.txt"])
def test_cub_missing_files_are_named(cub: Path, file: str) -> None:
    (cub / file).unlink()
    fails(CUB, cub, f"{file}' is missing")


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("image_class_labels.txt", "1 2\n", "1 two\n", "image_class_labels.txt': image 1 has 'two'; expected 1 to 200"),
        ("image_class_labels.txt", "1 2\n", "1 201\n", "image 1 has '201'; expected 1 to 200"),
        ("image_class_labels.txt", "1 2\n", "1 0\n", "image 1 has '0'; expected 1 to 200"),
        ("image_class_labels.txt", "1 2\n", "", "image 1 of images.txt has no usable line in"),
        ("train_test_split.txt", "3 1\n", "3 2\n", "train_test_split.txt': image 3 has '2'; expected 0 to 1"),
        ("train_test_split.txt", "3 1\n", "3\n", "train_test_split.txt' line 3: '3'"),
        ("train_test_split.txt", "3 1\n", "x 1\n", "train_test_split.txt' line 3: 'x 1'"),
        ("images.txt", "4 ", "1 ", "images.txt' line 4: image 1 was there before"),
        ("images.txt", "Bird_00004", "Bird_00009", "Bird_00009.jpg' is missing; images.txt names it"),
        ("images.txt", "002.Bird_2/Bird_00004", "../images.txt", "../images.txt.jpg' is missing"),
    ],
)
def test_cub_wrong_rows_are_named(cub: Path, file: str, old: str, new: str, says: str) -> None:
    text = (cub / file).read_text()
    assert old in text
    (cub / file).write_text(text.replace(old, new, 1))
    fails(CUB, cub, says, "legogcd datasets check cub")


def test_cub_that_is_no_text_or_lists_an_image_twice(cub: Path) -> None:
    lines = (cub / "images.txt").read_text().splitlines()
    lines[3] = "4 " + lines[0].split(" ")[1]
    (cub / "images.txt").write_text("\n".join(lines))
    fails(CUB, cub, "images/002.Bird_2/Bird_00001.jpg is listed twice")
    (cub / "images.txt").write_bytes(b"\xff\xfe\x00garbage")
    fails(CUB, cub, "images.txt' is not text")


@pytest.fixture
def cars(tmp_path: Path) -> Path:
    return write_cars(tmp_path / "stanford_cars", [14, 3, 196], [181, 1])


def test_cars_rows_follow_the_annotations(cars: Path) -> None:
    train, test = CARS.load(cars.parent, "train"), CARS.load(cars, "test")
    assert train.images.names == ("cars_train/00001.jpg", "cars_train/00002.jpg", "cars_train/00003.jpg")
    assert train.classes.tolist() == [13, 2, 195]
    assert test.classes.tolist() == [180, 0]
    assert train.class_names[0] == "Make Model 1 2012"
    order = ["00003.jpg", "00001.jpg", "00002.jpg"]
    savemat(cars / "devkit/cars_train_annos.mat", {"annotations": annotations([5, 6, 7], order)})
    shuffled = CARS.load(cars, "train")
    assert shuffled.images.names == tuple(f"cars_train/{name}" for name in order)
    assert shuffled.classes.tolist() == [4, 5, 6]


def test_cars_test_annotations_may_lie_beside_the_devkit_and_names_may_be_absent(tmp_path: Path) -> None:
    cars = write_cars(tmp_path, [14], [181], names=False)
    (cars / "devkit/cars_test_annos_withlabels.mat").rename(cars / "cars_test_annos_withlabels.mat")
    test = CARS.load(cars, "test")
    assert test.classes.tolist() == [180]
    assert (test.class_names[180], len(set(test.class_names))) == ("car-181", 196)


def test_cars_missing_files_are_named(cars: Path) -> None:
    (cars / "cars_train/00002.jpg").unlink()
    fails(CARS, cars, "cars_train/00002.jpg' is missing; row 2 of devkit/cars_train_annos.mat names it")
    (cars / "devkit/cars_test_annos_withlabels.mat").unlink()
    fails(CARS, cars, "devkit/cars_test_annos_withlabels.mat' is missing", split="test")


@pytest.mark.parametrize("label", [0, 197, np.nan, np.inf, 1.5, "two", [1, 2]])
def test_cars_classes_out_of_range_are_named(cars: Path, label: object) -> None:
    struct = annotations([14, 3, 196], ["00001.jpg", "00002.jpg", "00003.jpg"])
    struct[0, 1]["class"] = label
    savemat(cars / "devkit/cars_train_annos.mat", {"annotations": struct})
    fails(CARS, cars, "cars_train_annos.mat' row 2: class", "expected 1 to 196")


def test_cars_annotations_without_classes_point_to_the_right_file(cars: Path) -> None:
    unlabelled = annotations(None, ["00001.jpg", "00002.jpg"])
    savemat(cars / "devkit/cars_test_annos_withlabels.mat", {"annotations": unlabelled})
    fails(CARS, cars, "have no field 'class'; the test set's classes are in cars_test_annos_withlabels", split="test")


def test_cars_wrong_and_corrupt_mat_files_are_one_clear_line(cars: Path) -> None:
    path = cars / "devkit/cars_train_annos.mat"
    whole = path.read_bytes()
    savemat(path, {"something": np.arange(3)})
    fails(CARS, cars, "cars_train_annos.mat' holds no 'annotations'")
    savemat(path, {"annotations": np.arange(3)})
    fails(CARS, cars, "have no field 'class'")
    savemat(path, {"annotations": np.array([[(1,)]], dtype=[("fnames", object)])})
    fails(CARS, cars, "have no field 'class'")
    hdf5 = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n"
    noise = np.random.default_rng(0).bytes(400)
    for content in (b"", b"MATLAB", whole[: len(whole) // 2], whole[:200] + b"\xff" * 300, hdf5, noise):
        path.write_bytes(content)
        fails(CARS, cars, "cars_train_annos.mat' cannot be read as a MATLAB file")
    path.write_bytes(whole)
    names = np.empty((1, 3), dtype=object)
    names[0, :] = ["a", "b", "c"]
    savemat(cars / "devkit/cars_meta.mat", {"class_names": names})
    fails(CARS, cars, "cars_meta.mat' names 3 classes; expected 196")


@pytest.fixture
def aircraft(tmp_path: Path) -> Path:
    """A training image of every variant, in reverse order, and three test images."""
    train = [(f"{1_000_000 + i}", variant) for i, variant in enumerate(reversed(VARIANTS))]
    test = [("0056978", "F/A-18"), ("2000001", "707-320"), ("2000002", "Cessna 172")]
    return write_aircraft(tmp_path / "fgvc-aircraft-2013b", train, test)


def test_aircraft_variants_are_sorted_as_strings_and_rows_are_not(aircraft: Path) -> None:
    train, test = AIRCRAFT.load(aircraft.parent, "train"), AIRCRAFT.load(aircraft, "test")
    assert train.class_names == tuple(VARIANTS)
    assert train.classes.tolist() == list(range(99, -1, -1))
    assert train.images.names[0] == "data/images/1000000.jpg"
    assert test.classes.tolist() == [3, 0, 2]
    assert test.images.names[0] == "data/images/0056978.jpg"


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("trainval", "1000001 ", "1000001x ", "images_variant_trainval.txt' line 2: '1000001x Type 94'"),
        ("trainval", "1000001 Type 94", "1000001", "images_variant_trainval.txt' line 2: '1000001'"),
        ("trainval", "1000001 ", "9999999 ", "9999999.jpg' is missing; line 2 of data/images_variant_trainval.txt"),
        ("trainval", "Type 94", "Type 93", "images_variant_trainval.txt' names 99 variants; expected 100"),
        ("test", "F/A-18", "F/A-19", "images_variant_test.txt' line 1: variant 'F/A-19' is not in"),
    ],
)
def test_aircraft_wrong_rows_are_named(aircraft: Path, file: str, old: str, new: str, says: str) -> None:
    path = aircraft / f"data/images_variant_{file}.txt"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    fails(AIRCRAFT, aircraft, says, split="test" if file == "test" else "train")


def test_aircraft_missing_files_are_named(aircraft: Path) -> None:
    (aircraft / "data/images_variant_test.txt").unlink()
    fails(AIRCRAFT, aircraft, "images_variant_test.txt' is missing", split="test")
    (aircraft / "data/images").rename(aircraft / "data/pictures")
    fails(AIRCRAFT, aircraft, "data/images' is missing")
    (aircraft / "data/images").write_text("")
    fails(AIRCRAFT, aircraft, "data/images' is a file; expected a folder")
