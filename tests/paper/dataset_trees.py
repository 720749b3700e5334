"""Writes data sets in their official layouts: small ones by hand, full-size ones from hard links to one image."""

import io
import itertools
import json
import os
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.io import savemat

VARIANTS = ["707-320", "A310", "Cessna 172", "F/A-18", *(f"Type {i:02d}" for i in range(96))]
"""A hundred aircraft variants, sorted."""


def write_image(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (2, 2), (200, 30, 30)).save(path)
    return path


def link_images(folder: Path, names: Iterable[str]) -> None:
    """One tiny image under many names."""
    first = write_image(folder / ".image.jpg")
    made: set[Path] = set()
    for name in names:
        path = folder / name
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        os.link(first, path)


def record(label: Sequence[int], red: int = 1, green: int = 2, blue: int = 3) -> bytes:
    """A binary CIFAR record: label bytes, then the planes; the second pixel of the first row is one brighter."""
    planes = np.repeat([red, green, blue], 1024).astype(np.uint8)
    planes[1::1024] += 1
    return bytes(label) + planes.tobytes()


def write_cifar10(folder: Path, batches: Mapping[str, Sequence[int]]) -> Path:
    """Batches by file name without ending, each a list of classes; red numbers the record within its batch."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, classes in batches.items():
        (folder / f"{name}.bin").write_bytes(b"".join(record([c], red=i) for i, c in enumerate(classes)))
    return folder


def write_cifar100(folder: Path, train: Sequence[int], test: Sequence[int]) -> Path:
    """Coarse labels are all 19, so that a reader of the wrong byte is found out."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, classes in (("train.bin", train), ("test.bin", test)):
        (folder / name).write_bytes(b"".join(record([19, c]) for c in classes))
    (folder / "fine_label_names.txt").write_text("".join(f"thing_{i}\n" for i in range(100)))
    return folder


def write_sheets(folder: Path, train: Sequence[Sequence[int]], test: Sequence[int]) -> Path:
    """The npm package's layout: a sheet a batch, one image a row, its first pixel's red the image's number."""
    folder.mkdir(parents=True, exist_ok=True)
    sheets = {f"data_batch_{i}": classes for i, classes in enumerate(train, 1)} | {"test_batch": test}
    for name, classes in sheets.items():
        pixels = np.zeros((len(classes), 1024, 3), np.uint8)
        pixels[:, 0, 0] = np.arange(len(classes))
        pixels[:, 34] = (9, 8, 7)  # second row, third column
        Image.fromarray(pixels).save(folder / f"{name}.png")
    (folder / "train_lables.json").write_text(json.dumps(list(itertools.chain(*train))))
    (folder / "test_lables.json").write_text(json.dumps(list(test)))
    return folder


def pack(folder: Path, archive: Path) -> Path:
    """A .tar.gz of a folder, under its own name."""
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, folder.name)
    return archive


def packed_bytes(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def write_cub(folder: Path, rows: Sequence[tuple[int, bool]]) -> Path:
    """Rows of (class from 1, is training); image ids from 1, files numbered within their class."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [f"{number:03d}.Bird_{number}/Bird_{i:05d}.jpg" for i, (number, _) in enumerate(rows, 1)]
    link_images(folder / "images", paths)
    _write_lines(folder / "images.txt", (f"{i} {path}" for i, path in enumerate(paths, 1)))
    _write_lines(folder / "image_class_labels.txt", (f"{i} {number}" for i, (number, _) in enumerate(rows, 1)))
    _write_lines(folder / "train_test_split.txt", (f"{i} {int(train)}" for i, (_, train) in enumerate(rows, 1)))
    return folder


def annotations(classes: Sequence[int] | None, names: Sequence[str]) -> np.ndarray:
    """A 1×N struct as in the Stanford Cars devkit; without classes as in its unlabelled test file."""
    fields = ["bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", *(["class"] if classes is not None else []), "fname"]
    struct = np.empty((1, len(names)), dtype=[(field, object) for field in fields])
    for i, name in enumerate(names):
        values = [np.uint16(39), np.uint16(116), np.uint16(569), np.uint16(375)]
        values += [np.uint8(classes[i])] if classes is not None else []
        struct[0, i] = (*values, name)
    return struct


def write_cars(folder: Path, train: Sequence[int], test: Sequence[int], names: bool = True) -> Path:
    """Classes from 1 in annotation order."""
    for split, file, classes in (("train", "cars_train_annos", train), ("test", "cars_test_annos_withlabels", test)):
        files = [f"{i:05d}.jpg" for i in range(1, len(classes) + 1)]
        link_images(folder / f"cars_{split}", files)
        (folder / "devkit").mkdir(exist_ok=True)
        savemat(folder / "devkit" / f"{file}.mat", {"annotations": annotations(classes, files)})
    if names:
        cars = np.empty((1, 196), dtype=object)
        cars[0, :] = [f"Make Model {i} 2012" for i in range(1, 197)]
        savemat(folder / "devkit" / "cars_meta.mat", {"class_names": cars})
    return folder


def write_aircraft(folder: Path, train: Sequence[tuple[str, str]], test: Sequence[tuple[str, str]]) -> Path:
    """Rows of (image id, variant)."""
    link_images(folder / "data" / "images", (f"{image}.jpg" for image, _ in [*train, *test]))
    for file, rows in (("trainval", train), ("test", test)):
        _write_lines(folder / "data" / f"images_variant_{file}.txt", (f"{image} {name}" for image, name in rows))
    return folder


def write_class_folders(folder: Path, every_class: Iterable[str], files: Mapping[str, Sequence[str]]) -> Path:
    """All class folders, and files in some of them."""
    for name in every_class:
        (folder / name).mkdir(parents=True)
    link_images(folder, (f"{name}/{file}" for name, listed in files.items() for file in listed))
    return folder


def wordnet_ids(count: int = 1000) -> list[str]:
    return [f"n{10_000_000 + 7 * i:08d}" for i in range(count)]


def spread(total: int, parts: int) -> list[int]:
    """A total in nearly equal parts."""
    return [total // parts + (i < total % parts) for i in range(parts)]


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))
