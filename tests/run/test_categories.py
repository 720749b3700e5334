"""Which category a prototype stands for after edits: one answer, on the command line, in Python and in the report."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from legogcd import LegoGCD
from legogcd.collection import find_images, from_folders
from legogcd.edits import Merge, Name, Split, Undo
from legogcd.export import export_run
from legogcd.report.page.grouped_images import group_images
from legogcd.run import Job, RunOptions, discover
from legogcd.run.categories import Categories, append_edit, current
from legogcd.run.discovery import Discovery, read_predictions, write_predictions
from legogcd.run.predict import predict_run

KNOWN, N_CLASSES = ("owl", "hawk"), 4


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Five images in new-001, three in new-002, and one of each known class."""
    predicted = np.array([2] * 5 + [3] * 3 + [0, 1])
    names = tuple(f"{number}.jpg" for number in range(10))
    write_predictions(tmp_path, Discovery(names, np.full(10, -1), predicted, np.full(10, 0.5), KNOWN, N_CLASSES))
    return tmp_path


def categories(run: Path) -> Categories:
    return Categories.of_run(run, KNOWN, N_CLASSES)


def test_a_prototype_stays_with_its_group_though_most_images_are_split_off(run: Path) -> None:
    append_edit(run, Split("new-001", ("0.jpg", "1.jpg", "2.jpg"), "barn owl"))
    assert categories(run).names == ("owl", "hawk", "new-001", "new-002")
    probabilities = np.eye(4)[[2] * 5 + [3] * 3 + [0, 1]]
    sorting = group_images(current(run), categories(run), probabilities)
    place = {name: number for number, name in enumerate(sorting.groups)}
    assert sorting.belief[0].tolist() == np.eye(len(place))[place["new-001"]].tolist()  # the model still says new-001
    assert sorting.group[0] == place["barn owl"]  # and the person decided otherwise
    assert not sorting.learned[place["barn owl"]]


def test_names_and_merges_carry_the_prototype_along(run: Path) -> None:
    append_edit(run, Name("new-001", "kite"))
    append_edit(run, Merge("owl", ("new-002",)))
    append_edit(run, Name("kite", "red kite"))
    found = categories(run)
    assert found.names == ("owl", "hawk", "red kite")
    assert found.of_prototype.tolist() == [0, 1, 2, 0]
    assert found.known.tolist() == [True, True, False]
    np.testing.assert_allclose(found.belief(np.array([[0.1, 0.2, 0.3, 0.4]])), [[0.5, 0.2, 0.3]])
    append_edit(run, Undo())
    assert categories(run).names == ("owl", "hawk", "kite")


def test_a_named_group_split_and_renamed_is_followed(run: Path) -> None:
    append_edit(run, Split("new-001", ("0.jpg", "1.jpg", "2.jpg", "3.jpg"), "barn owl"))
    append_edit(run, Name("new-001", "snowy owl"))
    append_edit(run, Merge("hawk", ("snowy owl",)))
    assert categories(run).names == ("owl", "hawk", "new-002")
    assert categories(run).of_prototype.tolist() == [0, 1, 1, 2]


def test_command_line_python_report_and_export_say_the_same(pictures: Path, tiny_vit: Path, tmp_path: Path) -> None:
    collection, _ = from_folders(find_images(pictures), ["blue", "green"])
    options = RunOptions(
        n_classes=4,
        epochs=1,
        settings={"batch_size": 16, "projector_hidden": 16},
        backbone=str(tiny_vit),
        image_size=32,
        views=2,
        cache=tmp_path / "cache",
        device="cpu",
    )
    folder = tmp_path / "run"
    discover(Job(collection, options), folder)
    found = read_predictions(folder)
    group = found["category"][found["status"] == "novel"].mode()[0]
    members = found["path"][found["category"] == group].tolist()
    append_edit(folder, Split(group, tuple(members[: len(members) // 2 + 1]), "barn owl"))
    append_edit(folder, Name(group, "snowy owl"))
    predict_run(folder, find_images(pictures), tmp_path / "table.csv")
    model = LegoGCD.load(folder, device="cpu")
    table = pd.read_csv(tmp_path / "table.csv")
    assert model.predict(pictures).tolist() == table["category"].tolist()
    assert "snowy owl" in set(table["category"])
    assert "barn owl" not in set(table["category"])
    assert model.labels_.tolist() == current(folder)["category"].tolist()
    assert set(model.labels_[: len(members)]) <= {*model.classes_, "barn owl"}
    export_run(folder, "csv", tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["category"].tolist() == model.labels_.tolist()
