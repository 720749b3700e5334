"""A run in other tools' formats: read back by the layout each documents, names and categories are the run's."""

import csv
import json
import posixpath
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from run_configs import run_config
from typer.testing import CliRunner

from legogcd.cli.export import To, export
from legogcd.edits import Name
from legogcd.errors import UserError
from legogcd.export import FORMATS, Include, export_run
from legogcd.export.naming import distinct, folder_names
from legogcd.run.categories import append_edit, confirmation
from legogcd.run.config import ImagesRecord, write_config
from legogcd.run.discovery import COLUMNS

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


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for number, (name, *_) in enumerate(ROWS):
        file = tmp_path / "my photos" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8 + number, 6)).save(file)
    return write_run(tmp_path / "run", ROWS, tmp_path / "my photos")


def write_run(folder: Path, rows: list[tuple[str, ...]], images: Path | None) -> Path:
    folder.mkdir()
    root = str(images) if images else None
    record = ImagesRecord(root=root, count=0, labelled=0)
    write_config(folder, run_config(version="1", seed=3, images=record))
    with open(folder / "predictions.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    return folder


def read_json(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


def source(link: Path, images: Path) -> str:
    return link.readlink().relative_to(images).as_posix()


def read_folders(out: Path, images: Path) -> dict[str, str]:
    return {source(file, images): folder.name for folder in out.iterdir() for file in folder.iterdir()}


def read_table(out: Path, images: Path) -> dict[str, str]:
    with open(out / "categories.csv", encoding="utf-8", newline="") as file:
        return {row["path"]: row["category"] for row in csv.DictReader(file)}


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
        file = images.parent / parse_qs(url.query)["d"][0]
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
    lines = (out / "train" / "metadata.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert not [row for row in rows if "\\" in row["file_name"]], "the loader takes it for a separator"
    assert all(source(out / "train" / row["file_name"], images) == row["path"] for row in rows)
    return {row["path"]: row["label"] for row in rows}


READERS: dict[str, Callable[[Path, Path], dict[str, str]]] = {
    "folders": read_folders,
    "csv": read_table,
    "label-studio": read_label_studio,
    "fiftyone": read_fiftyone,
    "coco": read_coco,
    "yolo-cls": read_yolo_cls,
    "hf-dataset": read_hf_dataset,
}


@pytest.mark.parametrize("to", FORMATS)
def test_every_image_is_there_under_its_category(to: str, run: Path, tmp_path: Path) -> None:
    done = export_run(run, to, tmp_path / "out")
    assert READERS[to](tmp_path / "out", tmp_path / "my photos") == CATEGORIES
    assert (done.images, done.categories, done.missing) == (len(ROWS), 5, ())


@pytest.mark.parametrize("link", ["symlink", "hard", "copy"])
@pytest.mark.parametrize("to", PLACING)
def test_images_are_linked_or_copied_and_stay_as_they_were(to: str, link, run: Path, tmp_path: Path) -> None:
    images = tmp_path / "my photos"
    before = {path: (path.lstat().st_mtime_ns, path.read_bytes()) for path in images.rglob("*.*")}
    export_run(run, to, tmp_path / "out", link=link)
    assert {path: (path.lstat().st_mtime_ns, path.read_bytes()) for path in images.rglob("*.*")} == before
    placed = [path for path in (tmp_path / "out").rglob("*.*") if path.suffix not in (".json", ".jsonl")]
    inodes = {path.stat().st_ino for path in before}
    assert sorted(path.read_bytes() for path in placed) == sorted(content for _, content in before.values())
    assert {path.is_symlink() for path in placed} == {link == "symlink"}
    assert {path.stat().st_ino in inodes for path in placed} == {link != "copy"}


def test_where_links_are_not_possible_images_are_copied_and_one_line_says_so(run, tmp_path, monkeypatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(1, "a required privilege is not held")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    done = export_run(run, "folders", tmp_path / "out")
    assert [note for note in done.notes if "copied" in note and "privilege" in note] == list(done.notes)
    assert len(done.notes) == 1
    assert (tmp_path / "out" / "007" / "a.png").read_bytes() == (tmp_path / "my photos" / "sub" / "a.png").read_bytes()


def test_what_a_person_said_is_told_from_what_the_model_guessed(run: Path, tmp_path: Path) -> None:
    append_edit(run, confirmation(run, images=["br[ack]et*.png"]))
    settled = {path for path, _, status, *_ in ROWS if status == "labelled"} | {"br[ack]et*.png"}
    sure = {path: float(confidence) for path, _, _, confidence, _ in ROWS if path not in settled}
    for to in ("label-studio", "coco", "fiftyone", "csv"):
        export_run(run, to, tmp_path / to)

    tasks = {task["data"]["path"]: task for task in read_json(tmp_path / "label-studio" / "tasks.json")}
    assert {path for path, task in tasks.items() if "annotations" in task} == settled
    guesses = {path: task["predictions"][0] for path, task in tasks.items() if "predictions" in task}
    assert {path: guess["score"] for path, guess in guesses.items()} == sure
    assert {guess["model_version"] for guess in guesses.values()} == {"legogcd 1, legogcd, seed 3"}

    content = read_json(tmp_path / "coco" / "annotations.json")
    names = {picture["id"]: picture["file_name"] for picture in content["images"]}
    scores = {names[entry["image_id"]]: entry["score"] for entry in content["annotations"] if "score" in entry}
    assert scores == sure
    assert {entry["name"]: entry["supercategory"] for entry in content["categories"]} == {
        **dict.fromkeys(("owl, barn", "007", "NA"), "known"),
        **dict.fromkeys(("new-001", "新"), "novel"),
    }

    labels = read_json(tmp_path / "fiftyone" / "labels.json")["labels"].values()
    assert sorted(label["confidence"] for label in labels if "confidence" in label) == sorted(sure.values())

    with open(tmp_path / "csv" / "categories.csv", encoding="utf-8", newline="") as file:
        assert {row["path"] for row in csv.DictReader(file) if row["settled"] == "1"} == settled


@pytest.mark.parametrize("to", FORMATS)
def test_a_group_has_the_name_it_was_given(to: str, run: Path, tmp_path: Path) -> None:
    append_edit(run, Name("new-001", "snowy owl"))
    export_run(run, to, tmp_path / "out")
    renamed = {path: "snowy owl" if category == "new-001" else category for path, category in CATEGORIES.items()}
    assert READERS[to](tmp_path / "out", tmp_path / "my photos") == renamed


@pytest.mark.parametrize("to", [name for name in FORMATS if name != "csv"])
def test_a_missing_image_is_named_and_the_rest_exported(to: str, run: Path, tmp_path: Path) -> None:
    (tmp_path / "my photos" / "dots.in.name.jpg").unlink()
    done = export_run(run, to, tmp_path / "out")
    assert done.missing == ("dots.in.name.jpg",)
    assert "1 image file missing or unreadable: 'dots.in.name.jpg'" in done.lines()
    left = {path: category for path, category in CATEGORIES.items() if path != "dots.in.name.jpg"}
    assert READERS[to](tmp_path / "out", tmp_path / "my photos") == left


def test_coco_leaves_out_what_is_no_image_and_takes_huge_ones(run: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2)
    (tmp_path / "my photos" / "a.jpg").write_text("not an image")
    done = export_run(run, "coco", tmp_path / "out")
    assert done.missing == ("a.jpg",)
    assert done.images == len(ROWS) - 1 == len(read_coco_names(tmp_path / "out"))
    assert Image.MAX_IMAGE_PIXELS == 2


def read_coco_names(out: Path) -> list[str]:
    return [picture["file_name"] for picture in read_json(out / "annotations.json")["images"]]


def test_only_what_is_asked_for(run: Path, tmp_path: Path) -> None:
    include = Include(only=("labelled", "novel"), min_confidence=0.3)
    done = export_run(run, "csv", tmp_path / "out", include=include)
    chosen = [
        path
        for path, _, status, confidence, _ in ROWS
        if status == "labelled" or (status == "novel" and float(confidence) >= 0.3)
    ]
    assert list(read_table(tmp_path / "out", tmp_path)) == chosen
    assert done.not_asked_for == len(ROWS) - len(chosen)
    export_run(run, "csv", tmp_path / "sure", include=Include(min_confidence=1.0))
    assert {"a.jpg", "b, “c”.jpg"} <= read_table(tmp_path / "sure", tmp_path).keys(), "a given label is never unsure"


@pytest.mark.parametrize(("to", "name"), [("csv", "sorted.csv"), ("coco", "sorted.json")])
def test_an_out_with_the_ending_of_the_only_file_is_that_file(to: str, name: str, run: Path, tmp_path: Path) -> None:
    export_run(run, to, tmp_path / "new" / name)
    export_run(run, to, tmp_path / "folder")
    (in_folder,) = (tmp_path / "folder").iterdir()
    assert (tmp_path / "new" / name).read_bytes() == in_folder.read_bytes()
    assert [path.name for path in (tmp_path / "new").iterdir()] == [name]
    with pytest.raises(UserError, match="exists already"):
        export_run(run, to, tmp_path / "new" / name)


def test_images_may_have_moved(run: Path, tmp_path: Path) -> None:
    (tmp_path / "my photos").rename(tmp_path / "moved")
    with pytest.raises(UserError, match=r"is not there.*--images"):
        export_run(run, "folders", tmp_path / "out")
    export_run(run, "folders", tmp_path / "out", images=tmp_path / "moved")
    assert read_folders(tmp_path / "out", tmp_path / "moved") == CATEGORIES


def test_paths_from_anywhere_stay_inside_the_export(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for file in (here / "a.png", there / "a.png", there / "b.png"):
        file.parent.mkdir(exist_ok=True)
        Image.new("L", (2, 2)).save(file)
    names = ["a.png", "../there/a.png", str(there / "b.png")]
    run = write_run(tmp_path / "run", [(name, "x", "novel", "0.5", "x") for name in names], here)
    sources = sorted([here / "a.png", there / "a.png", there / "b.png"])
    for to in PLACING:
        export_run(run, to, tmp_path / "out" / to)
        links = (tmp_path / "out" / to).rglob("*.png")
        assert sorted(link.readlink() for link in links) == sources
    export_run(run, "label-studio", tmp_path / "tasks")
    urls = [task["data"]["image"] for task in read_json(tmp_path / "tasks" / "tasks.json")]
    assert [tmp_path.parent / unquote(url.partition("?d=")[2]) for url in urls] == [
        here / "a.png",
        there / "a.png",
        there / "b.png",
    ]


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("https://host/p", "https://host/p/plus%2Bhash%23percent%2520%20and%20q%3F.jpg"),
        ("/data/local-files/?d=", "/data/local-files/?d=plus%2Bhash%23percent%2520%20and%20q%3F.jpg"),
        ("s3://bucket/p/", "s3://bucket/p/plus+hash#percent%20 and q?.jpg"),
    ],
)
def test_label_studio_addresses(prefix: str, expected: str, run: Path, tmp_path: Path) -> None:
    export_run(run, "label-studio", tmp_path / "out", url_prefix=prefix)
    assert expected in [task["data"]["image"] for task in read_json(tmp_path / "out" / "tasks.json")]


def test_label_studio_says_how_to_serve_the_images(run: Path, tmp_path: Path) -> None:
    (note,) = export_run(run, "label-studio", tmp_path / "out").notes
    assert f"LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT={tmp_path} " in note


def test_yolo_split_is_stratified_and_seeded(tmp_path: Path) -> None:
    sizes = {"big": 20, "two": 2, "one": 1}
    rows = [(f"{name}-{n}.png", name, "novel", "0.5", name) for name, size in sizes.items() for n in range(size)]
    (tmp_path / "photos").mkdir()
    for name, *_ in rows:
        (tmp_path / "photos" / name).touch()
    run = write_run(tmp_path / "run", rows, tmp_path / "photos")

    def parts(name: str, **choices) -> tuple[dict[str, str], dict[str, str]]:
        export_run(run, "yolo-cls", tmp_path / name, **choices)
        return tuple(read_folders(tmp_path / name / part, tmp_path / "photos") for part in ("train", "val"))

    train, val = parts("out", val_share=0.25)
    assert Counter(train.values()) == {"big": 15, "two": 1, "one": 1}
    assert Counter(val.values()) == {"big": 5, "two": 1}
    assert {path.name for path in (tmp_path / "out" / "val").iterdir()} == set(sizes), "class numbers would differ"
    assert parts("again", val_share=0.25) == (train, val)
    assert parts("other", val_share=0.25, seed=1) != (train, val)


@pytest.mark.parametrize("to", FORMATS)
def test_an_interrupted_export_leaves_nothing(to: str, run: Path, tmp_path: Path, monkeypatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    if to == "csv":
        monkeypatch.setattr(csv, "writer", stop)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(KeyboardInterrupt):
        export_run(run, to, tmp_path / "out", progress=stop)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_full_disk_is_one_line(run: Path, tmp_path: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copy2", full)
    with pytest.raises(UserError, match="No space left on device; nothing was left behind"):
        export_run(run, "folders", tmp_path / "out", link="copy")
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(run: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    export_run(run, "folders", tmp_path / "out")
    for to in FORMATS:
        with pytest.raises(UserError, match="is not empty"):
            export_run(run, to, tmp_path / "out")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="is a file"):
        export_run(run, "folders", tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"to": "excel"}, "expected one of folders, csv"),
        ({"out": "my photos/sorted"}, "in the image folder"),
        ({"val_share": 1.0}, "--val-share 1.0"),
        ({"include": Include(only=("unknown",))}, "--only unknown"),
        ({"include": Include(min_confidence=2)}, "--min-confidence 2"),
        ({"include": Include(only=())}, "holds no image"),
    ],
)
def test_what_cannot_work_is_one_clear_line(choices: dict, message: str, run: Path, tmp_path: Path) -> None:
    given = {"to": "folders", "out": "out"} | choices
    with pytest.raises(UserError, match=message):
        export_run(run, given.pop("to"), tmp_path / given.pop("out"), **given)
    assert {path.name for path in tmp_path.iterdir()} == {"run", "my photos"}


def test_a_run_over_arrays_exports_a_table_only(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [("image-000000", "x", "novel", "0.5", "x")], None)
    export_run(run, "csv", tmp_path / "out")
    assert read_table(tmp_path / "out", tmp_path) == {"image-000000": "x"}
    with pytest.raises(UserError, match="made from arrays"):
        export_run(run, "folders", tmp_path / "folders")


def test_no_image_at_all_is_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"none of the 13 image files is in .*--images"):
        export_run(run, "folders", tmp_path / "out", images=tmp_path / "empty")


def test_folders_are_named_close_to_the_category(tmp_path: Path) -> None:
    names = folder_names(["a/b", "a_b", "A_B", "..", "", "con", "Nul.txt", "console", "end. ", ".hidden", "x" * 300])
    assert names["a_b"] == "a_b-2"
    assert names["A_B"] == "A_B"
    assert names["a/b"] == "a_b-3"
    assert names["con"] == "con_"
    assert names["Nul.txt"] == "Nul_.txt"
    assert names["console"] == "console"
    assert names["end. "] == "end"
    assert names[".hidden"] == "_.hidden"
    assert {names[".."], names[""]} == {"_", "_-2"}
    assert names["x" * 300] == "x" * 200


@given(st.sets(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=12))
@settings(max_examples=50, deadline=None)
def test_folder_names_are_safe_and_distinct_for_any_categories(categories: set[str]) -> None:
    names = folder_names(categories)
    assert names.keys() == categories
    seen = {unicodedata.normalize("NFC", name).casefold() for name in names.values()}
    assert len(seen) == len(categories)
    for name in names.values():
        assert name
        assert not name.startswith((".", " "))
        assert not name.endswith((".", " "))
        assert not set(name) & set('<>:"/\\|?*\0\n')
        assert name.split(".")[0].lower() not in {"con", "prn", "aux", "nul", "com1", "lpt9"}


@given(st.lists(st.sampled_from(["a.jpg", "A.jpg", "a-2.jpg", "a-3.jpg", "a.png", "b"]), max_size=12))
@settings(max_examples=50, deadline=None)
def test_distinct_names_keep_their_ending_and_the_first_keeps_its_name(names: list[str]) -> None:
    result = distinct(names, before_suffix=True)
    assert len({name.casefold() for name in result}) == len(names)
    for row, (before, after) in enumerate(zip(names, result, strict=True)):
        assert posixpath.splitext(before)[1] == posixpath.splitext(after)[1]
        if before.casefold() not in [name.casefold() for name in names[:row]]:
            assert after == before


def test_fifty_thousand_equal_names_are_no_trouble() -> None:
    assert len(set(distinct(["IMG.jpg"] * 50_000, before_suffix=True))) == 50_000


def test_the_command_line_offers_every_format_and_reports(run: Path, tmp_path: Path) -> None:
    assert [to.value for to in To] == list(FORMATS)
    app = typer.Typer()
    app.command()(export)
    arguments = [
        run,
        "--to",
        "yolo-cls",
        "--out",
        tmp_path / "out",
        "--only",
        "known",
        "--only",
        "novel",
        "--link",
        "copy",
    ]
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    assert f"10 images in 5 categories written to {tmp_path / 'out'}; 3 left out as asked" in done.output
    assert "to validate with" in done.output
