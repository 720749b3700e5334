"""`legogcd datasets`: what it lists, what it finds wrong, and splits written and compared."""

import json
from pathlib import Path

import pytest
from dataset_trees import write_cars, write_cifar10, write_cub

from legogcd.paper.datasets import DATASETS


@pytest.fixture(autouse=True)
def no_root_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEGOGCD_DATA", raising=False)


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    """A data folder with a CUB of 200 classes, four training images and a test image each."""
    write_cub(tmp_path / "data/CUB_200_2011", [(number, i < 4) for number in range(1, 201) for i in range(5)])
    return tmp_path / "data"


def test_the_list_names_every_data_set_and_what_is_there(run_cli, birds: Path, monkeypatch) -> None:
    done = run_cli("datasets")
    assert done.exit_code == 0, done.stderr
    for dataset in DATASETS.values():
        assert dataset.name in done.stdout
        assert dataset.license in done.stdout
        assert dataset.source in done.stdout
    assert "LEGOGCD_DATA" in done.stdout
    found = run_cli("datasets", "--root", birds).stdout
    rows = {line.split()[0]: line for line in found.splitlines() if line.split()[0] in DATASETS}
    assert rows["cub"].endswith(str(birds / "CUB_200_2011"))
    assert "11,788" in rows["cub"]
    assert all(line.endswith(" no") for name, line in rows.items() if name != "cub")
    monkeypatch.setenv("LEGOGCD_DATA", str(birds))
    assert run_cli("datasets").stdout == found


def test_check_compares_counts_and_names_every_fault(run_cli, birds: Path) -> None:
    home = birds / "CUB_200_2011"
    for number in (1, 6):  # a training image of the classes 1 and 2
        next(home.glob(f"images/*/Bird_{number:05d}.jpg")).unlink()
    empty = home / "images/003.Bird_3/Bird_00011.jpg"
    empty.unlink()
    empty.write_bytes(b"")
    labels = home / "image_class_labels.txt"
    labels.write_text(labels.read_text().replace("1000 200\n", "1000 0\n"))
    done = run_cli("datasets", "check", "cub", "--root", birds)
    assert done.exit_code == 2
    lines = done.stdout.splitlines()
    assert lines[0] == f"CUB-200-2011 in {home}"
    assert "train: 798 images (official: 5994) of 200 classes" in lines
    assert "test: 199 images (official: 5794) of 199 classes" in lines
    wrong = [line for line in lines if line.startswith("wrong: ")]
    for part in (
        "001.Bird_1/Bird_00001.jpg' is missing; images.txt names it",
        "002.Bird_2/Bird_00006.jpg' is missing",
        "003.Bird_3/Bird_00011.jpg' is empty",
        "image 1000 has '0'; expected 1 to 200",
        "image 1000 of images.txt has no usable line",
        "train has 798 images; the official number is 5994",
        "test has 199 images; the official number is 5794",
        "test has no image of class",
        "published: 1498 and 4496",
    ):
        assert sum(part in line for line in wrong) == 1, (part, lines)
    assert lines[-1] == f"{len(wrong)} wrong"
    few = run_cli("datasets", "check", "cub", "--root", birds, "--limit", 2).stdout.splitlines()
    assert sum(line.startswith("wrong: ") for line in few) == 2
    assert few[-1] == f"{len(wrong)} wrong, {len(wrong) - 2} not shown (--limit)"


def test_check_lists_all_missing_files_at_once(run_cli, tmp_path: Path) -> None:
    cars = write_cars(tmp_path, [1, 2], [3])
    (cars / "devkit/cars_train_annos.mat").unlink()
    (cars / "cars_train").rename(cars / "elsewhere")
    (cars / "devkit/cars_test_annos_withlabels.mat").write_bytes(b"broken")
    done = run_cli("datasets", "check", "stanford_cars", "--root", cars)
    assert done.exit_code == 2
    for part in ("cars_train_annos.mat' is missing", "cars_train' is missing", "withlabels.mat' cannot be read"):
        assert done.stdout.count(part) == 1, done.stdout


def test_check_goes_on_after_a_broken_batch(run_cli, tmp_path: Path) -> None:
    batches = {f"data_batch_{i}": [0, 1] for i in range(1, 6)}
    write_cifar10(tmp_path, batches | {"test_batch": [3]})
    (tmp_path / "data_batch_2.bin").unlink()
    (tmp_path / "data_batch_4.bin").write_bytes(b"\x0c" + bytes(3072) + b"\x01")
    done = run_cli("datasets", "check", "cifar10", "--root", tmp_path, "--limit", 100)
    assert done.exit_code == 2
    assert "train: 6 images (official: 50000)" in done.stdout
    for part in ("data_batch_2.bin' is missing", "data_batch_4.bin has 3074 bytes", "record 1: class 12; expected 0"):
        assert part in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("check", "cub"), "--root"),
        (("check", "birds", "--root", "."), "unknown data set 'birds'; there are: cifar10, cifar100, cub"),
        (("check", "cifar-10", "--root", "."), "did you mean 'cifar10'?"),
        (("check", "cub", "--root", "nowhere"), "the folder for CUB-200-2011, 'nowhere', does not exist"),
        (("check", "cub", "--root", "."), "CUB-200-2011 is not in '.'; expected CUB_200_2011/ with images.txt"),
        (("compare", "nowhere.json", "nowhere.json"), "cannot read 'nowhere.json'"),
    ],
)
def test_mistakes_are_one_clear_line(run_cli, tmp_path: Path, monkeypatch, arguments, says: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_cli("datasets", *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith("legogcd: ")
    assert says in done.stderr
    assert done.stderr.strip().count("\n") == 0


def test_a_split_is_written_and_compared(run_cli, birds: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    for path in (first, second):
        done = run_cli("datasets", "split", "cub", "--root", birds, "--out", path)
        assert done.exit_code == 0, done.stderr
        assert "200 labelled, 600 unlabelled images" in done.stdout
    lists = json.loads(first.read_text())
    assert sorted([*lists["labelled"], *lists["unlabelled"]]) == list(range(800))
    assert (lists["dataset"], lists["images"], lists["old"][:2], len(lists["new"])) == ("cub", 800, [150, 70], 100)
    same = run_cli("datasets", "compare", first, second)
    assert (same.exit_code, same.stdout) == (0, "equal\n")

    moved = lists["labelled"].pop()
    lists["labelled"].insert(0, lists["unlabelled"][0])
    lists["unlabelled"][0] = moved
    lists["old"].reverse()
    second.write_text(json.dumps(lists))
    done = run_cli("datasets", "compare", first, second)
    assert done.exit_code == 2
    swapped = lists["labelled"][0]
    assert f"labelled: 1 ({moved}) only in the first, 1 ({swapped}) only in the second" in done.stdout
    assert f"unlabelled: 1 ({swapped}) only in the first, 1 ({moved}) only in the second" in done.stdout
    assert "old: the same classes in another order, so other class ids" in done.stdout
    assert "new:" not in done.stdout


def test_a_split_that_cannot_be_written_is_one_clear_line(run_cli, birds: Path) -> None:
    done = run_cli("datasets", "split", "cub", "--root", birds, "--out", birds)
    assert done.exit_code == 2
    assert done.stderr == f"legogcd: cannot write {str(birds)!r}: Is a directory\n"


def test_a_renamed_image_shows_in_the_comparison(run_cli, birds: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    run_cli("datasets", "split", "cub", "--root", birds, "--out", first)
    home = birds / "CUB_200_2011"
    image = home / "images/001.Bird_1/Bird_00001.jpg"
    image.rename(image.with_name("Bird_x.jpg"))
    listing = home / "images.txt"
    listing.write_text(listing.read_text().replace("Bird_00001.jpg", "Bird_x.jpg"))
    run_cli("datasets", "split", "cub", "--root", birds, "--out", second)
    assert run_cli("datasets", "compare", first, second).stdout == "files: the images' names or their order differ\n"


@pytest.mark.parametrize("content", ["", "[1]", "{}", '{"labelled": [0.5], "unlabelled": [], "old": [], "new": []}'])
def test_a_file_that_holds_no_split_is_refused(run_cli, tmp_path: Path, content: str) -> None:
    path = tmp_path / "lists.json"
    path.write_text(content)
    done = run_cli("datasets", "compare", path, path)
    assert done.exit_code == 2
    assert "lists.json" in done.stderr


def test_lists_of_other_code_need_only_the_indices(run_cli, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.json", tmp_path / "theirs.json"
    plain = {"labelled": [0, 2], "unlabelled": [1, 3], "old": [0], "new": [1]}
    ours.write_text(json.dumps(plain | {"dataset": "cub", "images": 4, "names_sha256": "0"}))
    theirs.write_text(json.dumps(plain | {"labelled": [2, 0]}))
    assert run_cli("datasets", "compare", ours, theirs).stdout == "equal\n"
