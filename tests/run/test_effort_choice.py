"""`--effort auto`: the labels choose, before anything is trained or kept, and a run records what was chosen."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from legogcd import LegoGCD
from legogcd.collection import Collection, find_images, from_folders, unlabelled
from legogcd.run import Job, RunOptions
from legogcd.run.config import read_config
from legogcd.run.effort_choice import looked_at, with_chosen_effort

SMALL = {"n_classes": 6, "effort": "auto", "image_size": 32, "device": "cpu", "threads": 1}


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four kinds of twelve pictures: plain colors that nobody confuses."""
    folder, random = tmp_path_factory.mktemp("photos"), np.random.default_rng(0)
    for kind, color in {"blue": (0, 0, 250), "green": (0, 250, 0), "red": (250, 0, 0), "white": (250,) * 3}.items():
        (folder / kind).mkdir()
        for number in range(12):
            noise = random.integers(0, 5, (32, 32, 3))
            Image.fromarray((np.array(color) + noise).astype(np.uint8)).save(folder / kind / f"{number}.png")
    return folder


@pytest.fixture
def easy(photos: Path) -> Collection:
    return from_folders(find_images(photos), ["blue", "green"], 1.0)[0]


def mixed_up(collection: Collection) -> Collection:
    """The same images with labels that say nothing."""
    labels = collection.labels.copy()
    labels[labels >= 0] = np.arange((labels >= 0).sum()) % 2
    return replace(collection, labels=labels)


def chosen(collection: Collection, **options: Any) -> tuple[str, list[str]]:
    said: list[str] = []
    return with_chosen_effort(Job(collection, RunOptions(**SMALL | options)), said.append).options.effort, said


def test_labels_that_tell_the_categories_apart_stay_with_one_network(easy: Collection) -> None:
    effort, said = chosen(easy)
    assert effort == "normal"
    assert "100.0 %" in said[-1]


def test_labels_that_do_not_get_three_networks(easy: Collection) -> None:
    job = with_chosen_effort(Job(mixed_up(easy), RunOptions(**SMALL)), lambda said: None)
    assert (job.options.effort, job.options.protocol.backbone) == ("thorough", "lite0+lite1+lite2")


def test_nothing_is_looked_at_where_nothing_depends_on_it(easy: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("legogcd.run.effort_choice.share_found_again", lambda job, rows: pytest.fail("looked"))
    assert chosen(mixed_up(easy), backbone="efficientnet-lite1")[0] == "normal"
    assert chosen(unlabelled(easy.images))[0] == "normal"
    assert chosen(mixed_up(easy), effort="quick") == ("quick", [])


def test_labelled_images_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    for kind in ("blue", "green"):
        (tmp_path / kind).mkdir()
        for number in range(12):
            (tmp_path / kind / f"{number}.png").write_bytes(b"no picture")
    collection, _ = from_folders(find_images(tmp_path), ["blue", "green"], 1.0)
    assert chosen(collection)[0] == "normal"


def test_of_very_many_labelled_images_every_category_shows_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("legogcd.run.effort_choice._MOST_IMAGES", 30)
    labels = np.repeat([0, 1, 2, 3, -1], [500, 10, 3, 1, 50])
    rows = looked_at(labels, seed=0)
    assert np.bincount(labels[rows]).tolist() == [17, 10, 3]  # the only image of a category is no help
    assert (np.diff(rows) > 0).all()
    assert rows.tolist() == looked_at(labels, seed=0).tolist() != looked_at(labels, seed=1).tolist()


def test_a_run_and_an_estimator_record_the_effort_that_was_chosen(
    easy: Collection, photos: Path, tmp_path: Path, run_cli: Callable[..., Any]
) -> None:
    labels = tmp_path / "labels.csv"
    rows = [f"{name},{name.split('/')[0]}" for name in easy.images.names if name.startswith(("blue", "green"))]
    labels.write_text("\n".join(["path,label", *rows]))
    settings = [
        word for each in ("batch_size=16", "projector_hidden=8", "learning_rate=0.001") for word in ("--set", each)
    ]
    common = [
        "--classes",
        4,
        "--image-size",
        32,
        "--epochs",
        1,
        "--cache",
        tmp_path / "cache",
        "--no-report",
        *settings,
    ]
    done = run_cli("discover", photos, "--labels", labels, "--effort", "auto", "--out", tmp_path / "run", *common)
    assert done.exit_code == 0, done.stderr
    assert "effort: normal" in done.stderr
    assert read_config(tmp_path / "run").options.effort == "normal"
    again = run_cli(
        "discover", photos, "--labels", labels, "--effort", "auto", "--out", tmp_path / "run", "--resume", *common
    )
    assert again.exit_code == 0, again.stderr
    small = {"batch_size": 16, "projector_hidden": 8, "learning_rate": 0.001}
    model = LegoGCD(n_classes=4, effort="auto", image_size=32, epochs=1, cache=tmp_path / "cache", settings=small)
    model.fit(photos, labels).save(tmp_path / "saved")
    assert read_config(tmp_path / "saved").options.effort == "normal"
