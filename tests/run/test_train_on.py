"""--train-on: a part of the images is learned from, the others are sorted by what was learned."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from example_pictures import write_pictures

from legogcd.collection import Collection, Truth, find_images, from_folders
from legogcd.evaluation import scoring
from legogcd.report.page import report_outcome
from legogcd.run import Job, Outcome, RunOptions, discover
from legogcd.run.predict import predict_run
from legogcd.training.draw import trained_images

COUNT = 40


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> tuple[Collection, Truth]:
    folder = write_pictures(tmp_path_factory.mktemp("photos") / "pictures", per_class=20)
    collection, truth = from_folders(find_images(folder), ["blue", "green"])
    (folder / unreadable(collection)).write_bytes(b"no picture")
    return collection, truth


def unreadable(collection: Collection) -> str:
    """One of those that are only sorted."""
    learned = trained_images(collection.labels, COUNT, seed=0)
    return collection.images.names[np.setdiff1d(np.arange(len(collection)), learned)[-1]]


@pytest.fixture(scope="module")
def run(photos, tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    """On the default backbone."""
    folder = tmp_path_factory.mktemp("run")
    options = RunOptions(n_classes=4, train_on=COUNT, epochs=2, image_size=64, cache=folder / "cache", threads=1)
    job = Job(photos[0], options.changed(settings={"batch_size": 16}))
    return discover(job, folder / "run", score=scoring(photos[1])), folder / "run"


def test_all_labelled_images_and_a_random_part_of_the_others_are_learned_from(photos, run) -> None:
    collection, outcome = photos[0], run[0]
    assert outcome.learned_from is not None
    names = np.array(outcome.discovery.names)
    learned = set(names[outcome.learned_from])
    labelled = {collection.images.names[row] for row in np.flatnonzero(collection.labels >= 0)}
    assert labelled < learned
    assert len(learned) == COUNT
    others = trained_images(collection.labels, COUNT, seed=1), trained_images(collection.labels, COUNT, seed=0)
    assert not np.array_equal(*others)
    kept = next((run[1].parent / "cache").glob("views-*/manifest.json")).read_text()
    assert f'"n_images": {COUNT}' in kept


def test_every_image_is_sorted_once_in_the_order_of_the_collection(photos, run) -> None:
    outcome, folder = run
    bad = unreadable(photos[0])
    readable = [name for name in photos[0].images.names if name != bad]
    assert list(outcome.discovery.names) == readable
    assert list(pd.read_csv(folder / "predictions.csv")["path"]) == readable
    assert bad in (folder / "skipped.csv").read_text()
    assert outcome.features is not None
    assert len(outcome.features) == len(readable)


def test_the_others_are_what_the_model_says_of_any_image(photos, run, tmp_path: Path) -> None:
    outcome, folder = run
    assert outcome.learned_from is not None
    rest = np.setdiff1d(np.arange(len(outcome.discovery.names)), outcome.learned_from)
    images = replace(photos[0].images, names=tuple(outcome.discovery.names[row] for row in rest))
    predict_run(folder, images, tmp_path / "rest.csv", device="cpu", threads=1)
    said = pd.read_csv(tmp_path / "rest.csv").set_index("path")
    found = pd.read_csv(folder / "predictions.csv").set_index("path").loc[list(images.names)]
    assert list(said["category"]) == list(found["category"])
    np.testing.assert_allclose(said["confidence"], found["confidence"], atol=1e-4)
    again = outcome.features_at(rest[:5])
    np.testing.assert_allclose(again, outcome.features[rest[:5]], rtol=1e-4, atol=1e-5)


def test_scores_are_those_of_all_images_and_the_report_says_what_was_learned_from(photos, run, tmp_path: Path) -> None:
    outcome, folder = run
    bad = unreadable(photos[0])
    collection = photos[0].keep([row for row, name in enumerate(photos[0].images.names) if name != bad])
    assert outcome.scores == scoring(photos[1])(collection, outcome.discovery.predicted)
    page = report_outcome(outcome, photos[0].images, folder)
    assert f"It learned from {COUNT} images and sorted the others by that." in page.read_text()
    report_outcome(replace(outcome, features=None), photos[0].images, folder)  # as of a run too large for a page
    assert "This page is about a sample" in page.read_text()
