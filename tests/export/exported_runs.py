"""A run to export, and readers of what was exported, each by the layout its tool documents."""

import csv
import json
import posixpath
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

from PIL import Image
from run_configs import run_config

from legogcd.csv_text import unescape_name, write_rows
from legogcd.export import FORMATS
from legogcd.run.config import ImagesRecord, write_config
from legogcd.run.discovery import COLUMNS
from legogcd.run.trust import remember_root

ROWS = [
    ("a.jpg", "owl, barn", "labelled", "0.9000", "007"),
    ("sub/a.jpg", "owl, barn", "known", "0.8000", "owl, barn"),
    ("up/A.jpg", "owl, barn", "known", "0.2000", "owl, barn"),
    ("sub/a.png", "007", "known", "0.7000", "007"),
    ("test/my_test-1.jpg", "007", "labelled", "1.0000", "007"),
    ("b, “c”.jpg", "NA", "labelled", "0.6000", "NA"),
    ('d "e"/ü é.png', "NA", "known", "0.5000", "NA"),
    ("plus+hash#percent%20 and q?.jpg", "new-001", "novel", "0.4000", "new-001"),
    ("br[ack]et*.png", "new-001", "novel", "0.3000", "new-001"),
    ("dots.in.name.jpg", "new-001", "novel", "0.9500", "new-001"),
    ("back\\slash.jpg", "new-001", "novel", "0.0500", "new-001"),
    ("日本/写真.webp", "新", "novel", "0.1000", "新"),
    ("日本/'一'.png", "新", "novel", "0.1500", "新"),
]  # every category can be the name of a folder


CATEGORIES = {path: category for path, category, *_ in ROWS}


PLACING = [name for name, chosen in FORMATS.items() if chosen.places_images]


def write_images(folder: Path, names: list[str]) -> Path:
    for number, name in enumerate(names):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "wb") as opened:
            Image.new("RGB", (8 + number, 6)).save(opened, "PNG")
    return folder


def write_run(folder: Path, rows: list[tuple[str, ...]], images: Path | None, made_here: bool = True) -> Path:
    folder.mkdir()
    root = str(images) if images else None
    record = ImagesRecord(root=root, count=0, labelled=0)
    write_config(folder, run_config(version="1", seed=3, images=record))
    write_rows(folder / "predictions.csv", COLUMNS, rows)
    if made_here:
        remember_root(folder, root)
    return folder


def photographed_run(folder: Path) -> Path:
    """A run over all of ROWS, with its images in "my photos" beside it."""
    for number, (name, *_) in enumerate(ROWS):
        file = folder / "my photos" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8 + number, 6)).save(file)
    return write_run(folder / "run", ROWS, folder / "my photos")


def read_json(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


def source(link: Path, images: Path) -> str:
    return link.readlink().relative_to(images).as_posix()


def read_folders(out: Path, images: Path) -> dict[str, str]:
    return {source(file, images): folder.name for folder in out.iterdir() for file in folder.iterdir()}


def read_table(out: Path, images: Path) -> dict[str, str]:
    with open(out / "categories.csv", encoding="utf-8", newline="") as file:
        return {unescape_name(row["path"]): unescape_name(row["category"]) for row in csv.DictReader(file)}


def read_label_studio(out: Path, images: Path) -> dict[str, str]:
    view = ElementTree.parse(out / "labeling-interface.xml").getroot()
    assert view.find("Image").get("value") == "$image"
    names = (view.find("Choices").get("name"), view.find("Image").get("name"))
    assert view.find("Choices").get("toName") == names[1]
    choices = {choice.get("value") for choice in view.iter("Choice")}
    found = {}
    for task in read_json(out / "tasks.json"):
        url = urlsplit(task["data"]["image"])
        assert url.path == "/data/local-files/"
        assert not url.fragment
        file = images.parent / parse_qs(url.query, errors="surrogateescape")["d"][0]
        (answer,) = task.get("annotations", []) + task.get("predictions", [])
        (region,) = answer["result"]
        assert (region["from_name"], region["to_name"], region["type"]) == (*names, "choices")
        (choice,) = region["value"]["choices"]
        assert choice in choices
        found[file.relative_to(images).as_posix()] = choice
    return found


def read_fiftyone(out: Path, images: Path) -> dict[str, str]:
    labels = read_json(out / "labels.json")
    data = out / "data"
    files = [file for file in data.rglob("*") if not file.is_dir()]
    by_key = {posixpath.splitext(file.relative_to(data).as_posix())[0]: file for file in files}
    assert len(by_key) == len(files), "two images with one key"
    assert "\\" not in "".join(by_key), "FiftyOne takes it for a separator"
    return {source(by_key[key], images): labels["classes"][label["label"]] for key, label in labels["labels"].items()}


def read_coco(out: Path, images: Path) -> dict[str, str]:
    content = read_json(out / "annotations.json")
    names = {category["id"]: category["name"] for category in content["categories"]}
    pictures = {picture["id"]: picture for picture in content["images"]}
    assert 0 not in names
    assert len(names) == len(content["categories"])
    assert len({annotation["id"] for annotation in content["annotations"]}) == len(pictures) == len(content["images"])
    found = {}
    for annotation in content["annotations"]:
        picture = pictures[annotation["image_id"]]
        with Image.open(images / picture["file_name"]) as image:
            assert (picture["width"], picture["height"]) == image.size
        assert annotation["bbox"] == [0, 0, picture["width"], picture["height"]]
        assert annotation["area"] == picture["width"] * picture["height"]
        assert annotation["iscrowd"] == 0
        found[picture["file_name"]] = names[annotation["category_id"]]
    return found


def read_yolo_cls(out: Path, images: Path) -> dict[str, str]:
    assert {part.name for part in out.iterdir()} == {"train", "val"}
    train, val = (read_folders(out / part, images) for part in ("train", "val"))
    assert not train.keys() & val.keys()
    return train | val


def read_hf_dataset(out: Path, images: Path) -> dict[str, str]:
    assert [path.name for path in out.iterdir()] == ["train"]
    assert not [path for path in (out / "train").iterdir() if path.is_dir()], "a folder could pass for a split"
    lines = (out / "train" / "metadata.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    assert not [row for row in rows if "\\" in row["file_name"]], "the loader takes it for a separator"
    assert all(source(out / "train" / row["file_name"], images) == unescape_name(row["path"]) for row in rows)
    return {unescape_name(row["path"]): unescape_name(row["label"]) for row in rows}


READERS: dict[str, Callable[[Path, Path], dict[str, str]]] = {
    "folders": read_folders,
    "csv": read_table,
    "label-studio": read_label_studio,
    "fiftyone": read_fiftyone,
    "coco": read_coco,
    "yolo-cls": read_yolo_cls,
    "hf-dataset": read_hf_dataset,
}
