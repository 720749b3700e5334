"""The result's names, statuses and file."""

from pathlib import Path

import numpy as np
import pytest

from legogcd.errors import UserError
from legogcd.run.discovery import Discovery, read_predictions, write_predictions
from legogcd.run.folder import check_free


def example() -> Discovery:
    return Discovery(
        names=("a.jpg", "b, “c”.jpg", 'd "e"/ü é.png', "f.png"),
        labels=np.array([0, -1, -1, -1]),
        predicted=np.array([1, 1, 2, 4]),
        confidence=np.array([0.25, 0.5, 0.99999, 0.1]),
        known=("owl, barn", "hawk"),
        n_classes=5,
    )


def test_the_given_label_stands_and_the_models_view_stands_beside_it() -> None:
    table = example().table()
    assert table["category"].tolist() == ["owl, barn", "hawk", "new-001", "new-003"]
    assert table["status"].tolist() == ["labelled", "known", "novel", "novel"]
    assert table["predicted"].tolist() == ["hawk", "hawk", "new-001", "new-003"]


def test_predictions_survive_names_with_commas_quotes_and_non_ascii(tmp_path: Path) -> None:
    write_predictions(tmp_path, example())
    first = (tmp_path / "predictions.csv").read_bytes().split(b"\n")[0]
    assert first == b"path,category,status,confidence,predicted"
    read = read_predictions(tmp_path)
    assert read["path"].tolist() == list(example().names)
    assert read["category"].tolist() == example().categories
    assert read["confidence"].tolist() == [0.25, 0.5, 1.0, 0.1]


@pytest.mark.parametrize("name", ["NA", "null", "007", "nan"])
def test_class_names_that_look_like_something_else_stay_text(name: str, tmp_path: Path) -> None:
    write_predictions(tmp_path, Discovery(("a",), np.array([0]), np.array([0]), np.array([1.0]), (name,), 1))
    assert read_predictions(tmp_path)["category"].tolist() == [name]


def test_an_occupied_folder_is_refused_and_an_ordinary_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    check_free(tmp_path)
    check_free(tmp_path / "a" / "b")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match="already holds a run"):
        check_free(tmp_path)
    with pytest.raises(UserError, match="is a file"):
        check_free(tmp_path / "notes.txt")


def test_the_summary_counts_groups_that_hold_images() -> None:
    assert example().summary() == "4 images: 1 labelled, 1 found in 2 known classes, 2 in 2 new groups"
