"""Names of files and categories: safe and distinct in every export, and given back as they were where they fit."""

import csv
import os
import posixpath
import shutil
import unicodedata
from pathlib import Path, PureWindowsPath

import pyarrow.json
import pytest
from exported_runs import READERS, write_images, write_run
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.errors import UserError
from legogcd.export import FORMATS, export_run
from legogcd.export.naming import distinct, folder_names


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


def test_a_numbered_name_is_no_longer_than_file_systems_take() -> None:
    long = "é" * 125 + ".png"
    first, second = distinct([long, long], before_suffix=True)
    assert first == long
    assert second == "é" * 124 + "-2.png"


ANY_PART = (
    st.binary(min_size=1, max_size=20)
    .map(lambda part: os.fsdecode(part.replace(b"\0", b"0").replace(b"/", b"1")))
    .filter(lambda part: part not in (".", ".."))
)
ODD = st.sampled_from(["\r", "a\r\nb", '"', "'", ",", "\x1b[2J", "caf\udce9", "=1+1", "\u2028", "%bytes:x", "NA"])
NAME = ODD | ANY_PART


@pytest.mark.parametrize("to", FORMATS)
def test_any_name_survives_or_is_left_out_with_a_reason(to: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    @given(
        names=st.lists(st.tuples(NAME, st.lists(NAME, max_size=1)), min_size=1, max_size=4),
        categories=st.lists(NAME, min_size=4, max_size=4),
    )
    @settings(max_examples=25, deadline=None)
    def survive(names: list[tuple[str, list[str]]], categories: list[str]) -> None:
        folder = tmp_path_factory.mktemp("names")
        paths = list(dict.fromkeys("/".join([*above, f"{name}.png"]) for name, above in names))
        paths = [path for path in paths if not any(other.startswith(f"{path}/") for other in paths)]
        expected = dict(zip(paths, categories, strict=False))
        write_images(folder / "photos", paths)
        rows = [(path, category, "novel", "0.5000", category) for path, category in expected.items()]
        run = write_run(folder / "run", rows, folder / "photos")
        absolute = all(PureWindowsPath(path).anchor for path in expected)  # elsewhere, as "\\.png" is
        if absolute and FORMATS[to].looks_at_images(None):
            with pytest.raises(UserError, match="is not a path below the image folder"):
                export_run(run, to, folder / "out")
            return
        done = export_run(run, to, folder / "out")
        found = READERS[to](folder / "out", folder / "photos")
        assert done.missing == ()
        assert found.keys() | done.refused.keys() == expected.keys()
        assert len(found) == done.images == len(expected) - len(done.refused)
        folders = folder_names(expected.values())
        for path, category in found.items():
            assert category == (folders[expected[path]] if to in ("folders", "yolo-cls") else expected[path])
        for line in done.lines():
            line.encode()
        shutil.rmtree(folder)

    survive()


def test_what_label_studio_cannot_hold_is_named_and_the_rest_exported(tmp_path: Path) -> None:
    names = ["a.png", "b.png", "c.png"]
    categories = ["x", "bell \x07", "caf\udce9"]
    rows = [(name, category, "novel", "0.5", "x") for name, category in zip(names, categories, strict=True)]
    run = write_run(tmp_path / "run", rows, write_images(tmp_path / "photos", names))
    done = export_run(run, "label-studio", tmp_path / "out")
    assert done.refused == {
        "b.png": "'b.png': the labeling interface cannot hold its category 'bell \\x07'",
        "c.png": "'c.png': the labeling interface cannot hold its category 'caf\\udce9'",
    }
    assert done.lines()[1].startswith("2 images refused: 'b.png': the labeling interface")
    assert READERS["label-studio"](tmp_path / "out", tmp_path / "photos") == {"a.png": "x"}


def test_the_metadata_of_an_imagefolder_are_utf8_as_its_loader_needs(tmp_path: Path) -> None:
    images = write_images(tmp_path / "photos", ["caf\udce9.png", "caf_.png"])
    rows = [(name, "caf\udce9", "novel", "0.5", "x") for name in ("caf\udce9.png", "caf_.png")]
    export_run(write_run(tmp_path / "run", rows, images), "hf-dataset", tmp_path / "out")
    table = pyarrow.json.read_json(tmp_path / "out" / "train" / "metadata.jsonl")
    assert table["file_name"].to_pylist() == ["caf_.png", "caf_-2.png"]
    assert table["path"].to_pylist() == ["%bytes:caf%E9.png", "caf_.png"]
    assert set(table["label"].to_pylist()) == {"%bytes:caf%E9"}


def test_a_spreadsheet_finds_columns_it_cannot_run(tmp_path: Path) -> None:
    names = ["=cmd.png", "+1.png", "-1.png", "@x.png", "\tx.png", "\rx.png", "owl.png"]
    rows = [(name, f"{name[0]}x", "novel", "0.5000", "owl") for name in names]
    done = export_run(write_run(tmp_path / "run", rows, None), "csv", tmp_path / "out")
    with open(tmp_path / "out" / "categories.csv", encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["path"] for row in table] == names
    assert [row["category"] for row in table] == [f"{name[0]}x" for name in names]
    assert [row["shown_path"] for row in table] == [*(f"'{name}" for name in names[:-1]), "owl.png"]
    assert [row["shown_category"] for row in table] == [*(f"'{name[0]}x" for name in names[:-1]), "ox"]
    assert "12 names would run as a formula in a spreadsheet" in done.lines()[1]


def test_a_file_name_cannot_steer_the_terminal(tmp_path: Path, run_cli) -> None:
    images = write_images(tmp_path / "photos", ["ok.png"])
    rows = [(name, "x", "novel", "0.5", "x") for name in ("ok.png", "\x1b[2Jgone.png", "caf\udce9.png")]
    run = write_run(tmp_path / "run", [*rows, ("../\x1b[31mred.png", "x", "novel", "0.5", "x")], images)
    done = run_cli("export", run, "--to", "folders", "--out", tmp_path / "out\x1b[2J")
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert "2 image files missing or unreadable: '\\x1b[2Jgone.png', 'caf\\udce9.png'" in done.stdout
    assert "1 image refused: '../\\x1b[31mred.png' leads out" in done.stdout
