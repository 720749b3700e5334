"""Labels kept out of training: a stratified share, and training really does not see them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.collection import find_images, from_folders
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.run import Job, RunOptions, discover
from legogcd.run.job import prepare
from legogcd.run.manifest import seal
from legogcd.run.model import load_run, read_calibration
from legogcd.training.held_out import hold_out


@given(st.lists(st.integers(-1, 5), min_size=1, max_size=200), st.floats(0, 0.9), st.integers(0, 100))
@settings(max_examples=50, deadline=None)
def test_a_share_of_each_class_and_never_its_last_label(classes: list[int], share: float, seed: int) -> None:
    labels = np.array(classes)
    held = hold_out(labels, share, seed)
    assert (labels[held] >= 0).all()
    assert len(set(held.tolist())) == len(held)
    spare = sum(int((labels == number).sum()) - 1 for number in set(classes) - {-1})
    assert len(held) == min(round(share * int((labels >= 0).sum())), spare)
    for number in set(classes) - {-1}:
        size, taken = int((labels == number).sum()), int((labels[held] == number).sum())
        assert taken < size
        assert taken <= np.ceil(share * size) + 1


def test_another_seed_holds_out_others() -> None:
    labels = np.repeat(np.arange(5), 40)
    assert not np.array_equal(hold_out(labels, 0.1, 0), hold_out(labels, 0.1, 1))


@pytest.mark.parametrize("share", [-0.1, 1.0, 2.0])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(UserError, match="held_out"):
        hold_out(np.array([0, 0, 1]), share, 0)


@pytest.fixture
def job(pictures: Path, tiny_vit: Path, tmp_path: Path) -> Job:
    collection, _ = from_folders(find_images(pictures), ["blue", "green"], 1.0)
    settings = {"epochs": 2, "batch_size": 16, "learning_rate": 0.02, "projector_hidden": 32, "projector_out": 16}
    options = RunOptions(
        n_classes=4,
        recipe="paper",
        settings=settings,
        backbone=str(tiny_vit),
        image_size=32,
        views=2,
        cache=tmp_path / "cache",
        held_out=0.25,
    )
    return Job(collection, options)


def test_training_sees_held_out_images_without_their_labels(job: Job) -> None:
    prepared = prepare(job, Quiet())
    assert len(prepared.held_out) == 4
    assert (prepared.collection.labels[prepared.held_out] >= 0).all()
    assert (prepared.labels[prepared.held_out] == -1).all()
    assert (prepared.labels >= 0).sum() == 12


def test_whatever_held_out_labels_say_the_same_is_learned(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    held = np.array([0, 3, 9, 12])
    monkeypatch.setattr("legogcd.run.job.hold_out", lambda labels, share, seed: held)
    wrong = job.collection.labels.copy()
    wrong[held] = 1 - wrong[held]
    trained, again = discover(job), discover(replace(job, collection=replace(job.collection, labels=wrong)))
    np.testing.assert_array_equal(trained.discovery.predicted, again.discovery.predicted)
    assert trained.model.calibration.accuracy == pytest.approx(1 - (again.model.calibration.accuracy or 0))


def test_a_run_keeps_its_calibration_and_reports_calibrated_confidence(job: Job, tmp_path: Path) -> None:
    outcome = discover(job, tmp_path / "run")
    found = read_calibration(tmp_path / "run")
    assert found == outcome.model.calibration
    assert found.held_out == 4
    model, config = load_run(tmp_path / "run")
    assert config.options.held_out == 0.25
    assert model.calibration == found
    best = model.probabilities(job.collection.images).max(axis=1)
    np.testing.assert_allclose(best, outcome.discovery.confidence, atol=2e-3)  # kept views are halved, these are not
    assert outcome.discovery.status.count("labelled") == 16  # held-out images have their labels in the result


def test_a_spoiled_calibration_is_one_clear_line(job: Job, tmp_path: Path) -> None:
    discover(job, tmp_path / "run")
    (tmp_path / "run" / "calibration.json").write_text('{"temperature": 0}')
    seal(tmp_path / "run", ["calibration.json"])
    with pytest.raises(UserError, match="not a calibration"):
        load_run(tmp_path / "run")
