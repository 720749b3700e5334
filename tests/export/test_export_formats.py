"""A run in other tools' formats: read back by the layout each documents, names and categories are the run's."""

import csv
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest
from exported_runs import (
    CATEGORIES,
    PLACING,
    READERS,
    ROWS,
    photographed_run,
    read_folders,
    read_json,
    read_table,
    write_run,
)
from PIL import Image

from legogcd.edits import Name
from legogcd.export import FORMATS, Include, export_run
from legogcd.run.categories import append_edit, confirmation


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return photographed_run(tmp_path)


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
        Image.new("L", (2, 2)).save(tmp_path / "photos" / name)
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


def test_paths_from_anywhere_stay_inside_the_export(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    here, there = tmp_path / "here", tmp_path / "there"
    for file in (here / "a.png", there / "a.png", there / "b.png"):
        file.parent.mkdir(exist_ok=True)
        Image.new("L", (2, 2)).save(file)
    names = ["here/a.png", "here/../there/a.png", str(there / "b.png")]
    run = write_run(tmp_path / "run", [(name, "x", "novel", "0.5", "x") for name in names], tmp_path)
    sources = sorted([here / "a.png", there / "a.png", there / "b.png"])
    for to in PLACING:
        export_run(run, to, outside / to)
        links = (outside / to).rglob("*.png")
        assert sorted(link.readlink() for link in links) == sources
    export_run(run, "label-studio", tmp_path / "tasks")
    urls = [task["data"]["image"] for task in read_json(tmp_path / "tasks" / "tasks.json")]
    assert [tmp_path.parent / unquote(url.partition("?d=")[2]) for url in urls] == [
        here / "a.png",
        there / "a.png",
        there / "b.png",
    ]
