"""Where an export appears: whole or not at all, nothing overwritten, and one clear line for what cannot work."""

from pathlib import Path

import pytest
from exported_runs import CATEGORIES, photographed_run, read_folders, read_table, write_run

from legogcd.errors import UserError
from legogcd.export import FORMATS, Include, export_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return photographed_run(tmp_path)


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


@pytest.mark.parametrize("to", FORMATS)
def test_an_interrupted_export_leaves_nothing(to: str, run: Path, tmp_path: Path) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

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
