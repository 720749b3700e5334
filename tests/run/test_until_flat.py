"""``until_flat``: a run ends where its loss no longer falls, is finished there, and goes on the same if interrupted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from legogcd.collection import find_images, from_folders
from legogcd.display import Quiet
from legogcd.errors import Interrupted
from legogcd.run import Job, RunOptions, discover
from legogcd.run.folder import read_metrics
from legogcd.training import journal as journal_module
from legogcd.training.journal import Journal

FILES = ("config.json", "metrics.jsonl", "predictions.csv", "model.safetensors", "calibration.json", "strangers.json")


def job(pictures: Path, tmp_path: Path, **settings: Any) -> Job:
    collection, _ = from_folders(find_images(pictures), ["blue", "green"])
    small = {"batch_size": 16, "projector_hidden": 8, "projector_out": 4, "whitened_dim": 3, "settle": True}
    still = {"learning_rate": 1e-9, "supervised_rise": 0.0, "teacher_warmup_epochs": 0}
    options = RunOptions(
        n_classes=4,
        image_size=32,
        views=2,
        epochs=30,
        settings=small | still | settings,
        near_duplicates="apart",
        held_out=0,
        cache=tmp_path / "cache",
        device="cpu",
        threads=1,
    )
    return Job(collection, options)


class Heard(Quiet):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def first_flat(losses: list[float]) -> int:
    """The first epoch that ends ten whose mean loss is not 1 % below that of the ten before."""
    means = {end: np.mean(losses[end - 10 : end]) for end in range(10, len(losses) + 1)}
    return next(end for end in range(20, len(losses) + 1) if means[end] > 0.99 * means[end - 10])


def test_a_run_whose_loss_is_flat_ends_and_is_finished(pictures: Path, tmp_path: Path, settled: list[int]) -> None:
    heard = Heard()
    discover(job(pictures, tmp_path), tmp_path / "long", display=heard)
    assert not [note for note in heard.notes if "the loss is flat" in note]
    long = read_metrics(tmp_path / "long")
    flat = first_flat([entry["loss"] for entry in long])
    assert flat < len(long) == 30
    discover(job(pictures, tmp_path, until_flat=True), tmp_path / "run", display=heard)
    assert read_metrics(tmp_path / "run") == long[:flat]
    assert settled == [32, 32], "both at their end"
    assert f"the loss is flat: ended after {flat} of 30 epochs" in heard.notes


@pytest.mark.parametrize("before_the_end", [1, 0])
def test_interrupted_near_its_end_it_ends_the_same(
    pictures: Path, tmp_path: Path, settled: list[int], monkeypatch: pytest.MonkeyPatch, before_the_end: int
) -> None:
    """After the last epoch but one, and after the last, when it had settled already."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    discover(job(pictures, tmp_path, until_flat=True), whole)
    monkeypatch.setattr(journal_module, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    remember, epochs = Journal.remember, len(read_metrics(whole)) - before_the_end

    def dying(self: Journal, *parts: Any) -> None:
        remember(self, *parts)
        if len(self.entries) == epochs:
            raise KeyboardInterrupt

    with monkeypatch.context() as dies:
        dies.setattr(Journal, "remember", dying)
        with pytest.raises(Interrupted):
            discover(job(pictures, tmp_path, until_flat=True), cut)
    discover(job(pictures, tmp_path, until_flat=True), cut, resume=True)
    assert len(settled) == 2, "once each"
    assert all((cut / name).read_bytes() == (whole / name).read_bytes() for name in FILES)
