"""A finished run on other images: the answers the run gave, calibrated, named as of now, whatever the format."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from legogcd import LegoGCD
from legogcd.collection import find_images, from_folders
from legogcd.edits import Merge, Name
from legogcd.errors import UserError
from legogcd.run import Job, RunOptions, discover
from legogcd.run.categories import append_edit
from legogcd.run.config import read_config, write_config
from legogcd.run.discovery import read_predictions
from legogcd.run.manifest import seal
from legogcd.run.predict import COLUMNS, predict_run
from legogcd.vision.views import encode

Run = Callable[..., Any]


@pytest.fixture
def run(pictures: Path, tiny_vit: Path, tmp_path: Path) -> Path:
    collection, _ = from_folders(find_images(pictures), ["blue", "green"])
    options = tiny_options(tiny_vit, tmp_path).changed(
        epochs=3, start="kmeans", kept_dtype="fp32", held_out=0.25, precision="fp32"
    )
    discover(Job(collection, options), tmp_path / "run")
    return tmp_path / "run"


def tiny_options(tiny_vit: Path, tmp_path: Path) -> RunOptions:
    return RunOptions(
        n_classes=4,
        recipe="paper",
        settings={"batch_size": 16, "learning_rate": 0.02, "projector_hidden": 32, "projector_out": 16},
        backbone=str(tiny_vit),
        image_size=32,
        views=2,
        cache=tmp_path / "cache",
        device="cpu",
    )


def read(path: Path) -> pd.DataFrame:
    if path.suffix == ".csv":
        return pd.read_csv(path)
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_json(path, lines=True)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_the_images_of_the_run_get_what_the_run_said(run: Path, pictures: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"table{suffix}"
    found = predict_run(run, find_images(pictures), out)
    table, said = read(out), read_predictions(run)
    assert tuple(table.columns) == COLUMNS
    assert table["path"].tolist() == said["path"].tolist()
    assert table["category"].tolist() == said["predicted"].tolist()
    np.testing.assert_allclose(table["confidence"], said["confidence"], atol=1e-3)
    assert table["unsure"].dtype == bool
    threshold = json.loads((run / "calibration.json").read_text())["threshold"]
    clear = (table["confidence"] - threshold).abs() > 1e-3  # the table is rounded
    assert clear.sum() >= 20
    assert table["unsure"][clear].tolist() == (table["confidence"] < threshold)[clear].tolist()
    known = table["category"].isin(["blue", "green"])
    assert table["status"].tolist() == np.where(known, "known", "novel").tolist()
    assert found.summary().startswith("32 images: ")


def test_memory_is_one_batch_whatever_the_number(
    run: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    predict_run(run, find_images(pictures), whole)
    monkeypatch.setattr("legogcd.vision.features.BATCH_VIEWS", 5)
    sizes: list[int] = []
    trunk = encode.Encoder.trunk

    def watched(self: encode.Encoder, views: np.ndarray) -> Any:
        sizes.append(len(views))
        return trunk(self, views)

    monkeypatch.setattr(encode.Encoder, "trunk", watched)
    predict_run(run, find_images(pictures), parts)
    assert max(sizes) <= 5
    assert sum(sizes) == 32
    assert read(parts)["category"].tolist() == read(whole)["category"].tolist()


def test_names_and_merges_made_since_are_in_it(run: Path, pictures: Path, tmp_path: Path) -> None:
    before = read_predictions(run)
    groups = sorted(set(before["category"][before["status"] == "novel"]))
    append_edit(run, Name(groups[0], "scarlet"))
    if len(groups) > 1:
        append_edit(run, Merge("scarlet", (groups[1],)))
    predict_run(run, find_images(pictures), tmp_path / "now.csv")
    table = read(tmp_path / "now.csv")
    expected = ["scarlet" if name in groups else name for name in before["predicted"]]
    assert table["category"].tolist() == expected
    assert (table["confidence"] <= 1).all()
    merged = table["category"] == "scarlet"
    assert (table["confidence"][merged] + 1e-3 >= before["confidence"][merged]).all()  # two groups' shares add up
    assert set(table["status"][merged]) == {"novel"}


def test_an_unreadable_image_is_named_and_left_out(run: Path, pictures: Path, tmp_path: Path, run_cli: Run) -> None:
    (pictures / "broken.jpg").write_bytes(b"not a picture")
    done = run_cli("predict", run, pictures, "--out", tmp_path / "table.csv")
    assert done.exit_code == 0
    assert "1 unreadable image left out: 'broken.jpg" in done.stderr
    assert len(read(tmp_path / "table.csv")) == 32


def test_nothing_but_unreadable_images_leaves_an_empty_table(run: Path, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "broken.jpg").write_bytes(b"not a picture")
    for suffix in (".csv", ".jsonl", ".parquet"):
        found = predict_run(run, find_images(inbox), tmp_path / f"table{suffix}")
        assert list(found.unreadable) == ["broken.jpg"]
    assert tuple(read(tmp_path / "table.csv").columns) == COLUMNS
    assert read(tmp_path / "table.parquet").shape == (0, len(COLUMNS))


def test_a_single_image_and_another_threshold(run: Path, tmp_path: Path, run_cli: Run) -> None:
    Image.new("RGB", (50, 30), (40, 60, 220)).save(tmp_path / "one.png")
    done = run_cli("predict", run, tmp_path / "one.png", "--out", tmp_path / "one.csv", "--unsure-below", "1")
    assert done.exit_code == 0
    assert done.stdout.startswith("1 image: ")
    assert read(tmp_path / "one.csv")["unsure"].tolist() == [True]


@pytest.mark.parametrize("out", ["table.xlsx", "table"])
def test_an_ending_that_says_nothing_is_refused_before_anything_long(
    run: Path, pictures: Path, tmp_path: Path, run_cli: Run, out: str
) -> None:
    done = run_cli("predict", run, pictures, "--out", tmp_path / out)
    assert done.exit_code == 2
    assert ".csv, .jsonl, .parquet" in done.stderr
    assert not (tmp_path / out).exists()


def test_a_failure_leaves_the_table_that_was_there(
    run: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "table.csv"
    out.write_text("mine")
    monkeypatch.setattr("legogcd.run.predict.Predicted.add", lambda self, table: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        predict_run(run, find_images(pictures), out)
    assert out.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".table")] == []


def test_a_model_trained_on_a_gpu_predicts_on_a_cpu(run: Path, pictures: Path, tmp_path: Path) -> None:
    config = read_config(run)
    options = config.options.changed(device="cuda", precision="bf16")
    write_config(run, config.model_copy(update={"options": options}))
    seal(run, ["config.json"])
    predict_run(run, find_images(pictures), tmp_path / "table.csv", device="cpu")
    assert read(tmp_path / "table.csv")["category"].tolist() == read_predictions(run)["predicted"].tolist()


def test_a_folder_that_is_no_run_is_one_clear_line(pictures: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not hold a finished run"):
        predict_run(tmp_path, find_images(pictures), tmp_path / "table.csv")


def test_the_estimator_gives_the_same_table(run: Path, pictures: Path, tmp_path: Path) -> None:
    predict_run(run, find_images(pictures), tmp_path / "table.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LegoGCD.load(run)
        table = model.predict_table(pictures)
    pd.testing.assert_frame_equal(table, read(tmp_path / "table.parquet"), check_dtype=False)
    assert model.predict(pictures).tolist() == table["category"].tolist()
    assert model.calibration_.held_out == 2


def test_a_run_over_int8_tokens_predicts_what_it_sorted(pictures: Path, tiny_vit: Path, tmp_path: Path) -> None:
    collection, _ = from_folders(find_images(pictures), ["blue", "green"])
    discover(Job(collection, tiny_options(tiny_vit, tmp_path).changed(epochs=2, kept_dtype="int8")), tmp_path / "run")
    predict_run(tmp_path / "run", find_images(pictures), tmp_path / "table.csv")
    table, said = read(tmp_path / "table.csv"), read_predictions(tmp_path / "run")
    assert table["category"].tolist() == said["predicted"].tolist()
    np.testing.assert_allclose(table["confidence"], said["confidence"], atol=1e-3)
