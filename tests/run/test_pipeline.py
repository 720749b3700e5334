"""The whole way from a folder to a run folder: it learns, repeats to the byte, goes on after a kill, loses nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from legogcd.collection import Collection, find_images, from_folders
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.evaluation import scoring
from legogcd.methods import METHODS
from legogcd.methods.legogcd_plus.method import LegoGCDPlus
from legogcd.run import Job, RunOptions, discover, pipeline
from legogcd.run.model import load_run
from legogcd.training import journal as journal_module
from legogcd.training.draw import clustering_images

TINY = {
    "epochs": 4,
    "start": "kmeans",
    "learning_rate": 0.02,
    "batch_size": 16,
    "projector_hidden": 32,
    "projector_out": 16,
}
FILES = (
    *("calibration.json", "collection.csv", "config.json", "manifest.json", "near_duplicates.csv", "strangers.json"),
    *("metrics.jsonl", "model.safetensors", "predictions.csv", "skipped.csv"),
)


class Heard(Quiet):
    """Remembers what a person would have read."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def job(pictures: Path, tiny_vit: Path, tmp_path: Path) -> Job:
    collection, _ = from_folders(find_images(pictures), ["blue", "green"])
    options = RunOptions(
        n_classes=4,
        recipe="paper",
        settings=TINY,
        backbone=str(tiny_vit),
        image_size=32,
        views=2,
        cache=tmp_path / "cache",
        kept_dtype="bf16",
        held_out=0,
        device="cpu",
        precision="fp32",
    )
    return Job(collection, options)


def files_of(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_sorts_pictures_that_are_easy(job: Job, pictures: Path, method: str) -> None:
    _, truth = from_folders(find_images(pictures), ["blue", "green"])
    job = job.changed(method=method, settings=tiny_settings(method))
    outcome = discover(job, score=scoring(truth))
    assert outcome.metrics[-1]["all"] >= (0.75 if method in ("rankstats", "uno") else 1.0)
    assert [entry["epoch"] for entry in outcome.metrics] == ([1, 2, 3, 4] if job.recipe.epochs else [0])


def tiny_settings(method: str) -> dict[str, Any]:
    settings: dict[str, Any] = {
        name: value for name, value in TINY.items() if name in METHODS[method].recipe.model_fields
    }
    if method in ("gcd", "uno", "orca", "rankstats"):  # less is needed than simgcd's, on features this alike
        settings["learning_rate"] = 0.002
    if method in ("gcd", "uno"):
        settings["start"] = "random"
    if method == "legogcd+":
        settings["settle"] = True
    return settings


def test_a_run_folder_holds_everything(job: Job, tmp_path: Path) -> None:
    outcome = discover(job, tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {*FILES, "timing.jsonl"}
    entries = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert entries == outcome.metrics
    assert set(entries[0]["terms"]) == set(outcome.model.method.bricks)
    assert sum(entries[0]["selected_by_step"]) == entries[0]["selected"]["confident_known"]
    assert "all" not in entries[0]  # nobody gave a truth


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(job: Job, tmp_path: Path) -> None:
    for name in ("one", "two"):
        discover(job, tmp_path / name)
    discover(job.changed(seed=1), tmp_path / "other")
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    assert files_of(tmp_path / "one")["model.safetensors"] != files_of(tmp_path / "other")["model.safetensors"]


@pytest.mark.parametrize(
    ("method", "killed_after"),
    [
        *(("legogcd", 1), ("legogcd", 3), ("legogcd+", 2), ("legogcd+", 4)),
        *(("gcd", 4), ("rankstats", 2), ("uno", 2), ("orca", 2), ("kmeans", 0)),
    ],
)
def test_resume_ends_with_the_same_bytes(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, killed_after: int
) -> None:
    job = job.changed(method=method, settings=tiny_settings(method))
    discover(job, tmp_path / "whole")
    monkeypatch.setattr(journal_module, "SECONDS_BETWEEN_CHECKPOINTS", 0)
    add = journal_module.Journal.add

    def dying(self: journal_module.Journal, metrics: dict[str, object]) -> None:
        add(self, metrics)
        if metrics["epoch"] == killed_after:  # after the log was written, before the checkpoint
            raise KeyboardInterrupt

    monkeypatch.setattr(journal_module.Journal, "add", dying)
    with pytest.raises(KeyboardInterrupt):
        discover(job, tmp_path / "cut")
    monkeypatch.setattr(journal_module.Journal, "add", add)
    discover(job, tmp_path / "cut", resume=True)
    assert files_of(tmp_path / "cut") == files_of(tmp_path / "whole")


def test_a_run_killed_behind_its_training_settles_once(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job.changed(method="legogcd+", settings=tiny_settings("legogcd+"))
    discover(job, tmp_path / "whole")
    monkeypatch.setattr(journal_module, "SECONDS_BETWEEN_CHECKPOINTS", 0)
    with monkeypatch.context() as killing:
        killing.setattr(pipeline, "_calibrate", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            discover(job, tmp_path / "cut")
    asked: list[int] = []
    monkeypatch.setattr(LegoGCDPlus, "finish", lambda *_: asked.append(1))
    discover(job, tmp_path / "cut", resume=True)
    assert asked == []
    assert files_of(tmp_path / "cut") == files_of(tmp_path / "whole")


def test_a_killed_process_can_be_resumed(tmp_path: Path, pictures: Path) -> None:
    arguments = ["discover", str(pictures), "--labels", "folders", "--known", "blue,green", "--epochs", "15"]
    arguments += ["--image-size", "32", "--cache", str(tmp_path / "cache"), "--views", "2", "--no-report"]
    arguments += ["--device", "cpu", "--precision", "fp32", "--set", "batch_size=8"]
    arguments += ["--set", "projector_hidden=32", "--out"]
    program = (
        "import sys; from legogcd.training import journal; journal.SECONDS_BETWEEN_CHECKPOINTS = 0;"
        "from legogcd.cli import main; main()"
    )
    command = [sys.executable, "-c", program, *arguments]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    process = subprocess.Popen([*command, str(cut)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (cut / "checkpoints").exists() and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (cut / "predictions.csv").exists()
    subprocess.run([*command, str(cut), "--resume"], check=True, capture_output=True)
    assert files_of(cut) == files_of(whole)


def test_resuming_a_finished_run_changes_nothing(job: Job, tmp_path: Path) -> None:
    discover(job, tmp_path / "run")
    before = files_of(tmp_path / "run")
    discover(job, tmp_path / "run", resume=True)
    assert files_of(tmp_path / "run") == before


@pytest.mark.parametrize("method", ["kmeans", "gcd", "uno", "orca", "rankstats"])
def test_a_saved_model_of_every_kind_sorts_as_the_run_did(job: Job, tmp_path: Path, method: str) -> None:
    outcome = discover(job.changed(method=method, settings=tiny_settings(method)), tmp_path / "run")
    model, _ = load_run(tmp_path / "run", device="cpu")
    predicted = model.probabilities(job.collection.images).argmax(axis=1)
    np.testing.assert_array_equal(predicted, outcome.discovery.predicted)


def test_resuming_with_other_settings_is_refused_and_says_which(job: Job, tmp_path: Path) -> None:
    discover(job, tmp_path / "run")
    with pytest.raises(UserError, match="begun with another seed"):
        discover(job.changed(seed=5), tmp_path / "run", resume=True)


def test_an_occupied_folder_is_left_alone(job: Job, tmp_path: Path) -> None:
    discover(job, tmp_path / "run")
    before = files_of(tmp_path / "run")
    with pytest.raises(UserError, match="already holds a run"):
        discover(job.changed(seed=5), tmp_path / "run")
    assert files_of(tmp_path / "run") == before


def test_unreadable_images_are_left_out_named_and_counted(job: Job, pictures: Path, tmp_path: Path) -> None:
    (pictures / "red" / "00.png").write_bytes(b"not an image")
    (pictures / "red" / "01.png").write_bytes((pictures / "red" / "02.png").read_bytes()[:60])
    collection, _ = from_folders(find_images(pictures), ["blue", "green"])
    display = Heard()
    outcome = discover(replace(job, collection=collection), tmp_path / "run", display=display)
    assert len(outcome.discovery.names) == 30
    assert any("2 unreadable images left out: 'red/00.png (" in warning for warning in display.warnings)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert set(config["images"]["unreadable"]) == {"red/00.png", "red/01.png"}


def test_a_known_class_whose_labelled_images_are_unreadable_is_no_longer_known(job: Job, pictures: Path) -> None:
    collection = job.collection
    for name, label in zip(collection.images.names, collection.labels, strict=True):
        if label == 1:
            (pictures / name).write_bytes(b"")
    display = Heard()
    outcome = discover(replace(job, collection=_again(collection, pictures)), display=display)
    assert outcome.discovery.known == ("blue",)
    assert any("green" in warning for warning in display.warnings)


def _again(collection: Collection, pictures: Path) -> Collection:
    return Collection(find_images(pictures), collection.labels, collection.known)


def test_a_short_disk_means_fewer_views_then_fresh_ones(job: Job, tmp_path: Path) -> None:
    view = 32 * 4 + 5 * 32 * 2  # the CLS residual in fp32 and five tokens in bf16
    fresh = "fresh views every epoch"
    expectations = {32 * 9 * view: None, 32 * 6 * view: "keeping 5 views", 32 * 2 * view: fresh, 10: fresh}
    for budget, expected in expectations.items():
        display = Heard()
        cache = tmp_path / f"cache-{budget}"
        outcome = discover(job.changed(views=8, cache=cache, disk_budget=budget, epochs=1), display=display)
        used = sum(path.stat().st_size for path in (tmp_path / f"cache-{budget}").rglob("*.bin"))
        assert used <= budget
        assert len(outcome.discovery.names) == 32
        shortage = [warning for warning in display.warnings if "disk budget" in warning]
        assert bool(shortage) == (expected is not None)
        if expected is not None:
            assert expected in shortage[0]


def test_fresh_views_train_too(job: Job, tmp_path: Path) -> None:
    outcome = discover(job.changed(views="fresh", cache=tmp_path / "fresh", epochs=2))
    assert np.isfinite(outcome.metrics[-1]["loss"])


def test_more_blocks_can_be_trained(job: Job) -> None:
    outcome = discover(job.changed(train_blocks=2, epochs=2))
    assert len(outcome.discovery.names) == 32


def test_a_saved_model_predicts_what_the_run_predicted(job: Job, tmp_path: Path) -> None:
    outcome = discover(job, tmp_path / "run")
    model, _ = load_run(tmp_path / "run", device="cpu")
    probabilities = model.probabilities(job.collection.images)
    assert (probabilities.argmax(axis=1) == outcome.discovery.predicted).all()
    np.testing.assert_allclose(probabilities.max(axis=1), outcome.discovery.confidence, atol=1e-4)


def test_a_model_is_not_loaded_onto_other_weights(job: Job, tmp_path: Path, tiny_vit: Path) -> None:
    import torch
    from transformers import ViTModel

    discover(job, tmp_path / "run")
    model = ViTModel.from_pretrained(tiny_vit, add_pooling_layer=False)
    with torch.no_grad():
        model.embeddings.cls_token.add_(1)
    model.save_pretrained(tmp_path / "other")
    with pytest.raises(UserError, match="not those the run was trained on"):
        load_run(tmp_path / "run", backbone=str(tmp_path / "other"), device="cpu")


def test_a_loss_that_explodes_is_said_in_one_line(job: Job) -> None:
    with pytest.raises(UserError, match="try a lower learning_rate"):
        discover(job.changed(settings={**TINY, "learning_rate": 1e30}, epochs=3))


def test_truth_is_not_something_training_takes(job: Job, pictures: Path) -> None:
    _, truth = from_folders(find_images(pictures), ["blue", "green"])
    with pytest.raises((TypeError, AttributeError)):
        discover(replace(job, collection=truth))  # type: ignore[arg-type]


def test_a_large_collection_starts_from_a_part_that_has_every_class() -> None:
    labels = np.full(10_000, -1)
    labels[:7] = np.arange(7)
    chosen = clustering_images(labels, seed=0, most=100)
    assert len(chosen) == len(set(chosen.tolist())) == 100
    assert set(labels[chosen].tolist()) == {-1, *range(7)}
    assert clustering_images(labels, seed=0).tolist() == list(range(10_000))
