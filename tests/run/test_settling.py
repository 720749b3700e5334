"""Many small classes on the default backbone: a run settles by itself, and goes on as if it was never interrupted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from legogcd import LegoGCD
from legogcd.collection import find_images, from_folders
from legogcd.run import Job, RunOptions, discover
from legogcd.training import journal as journal_module
from legogcd.training.journal import Journal

COLORS = {
    "blue": (40, 60, 220),
    "cyan": (40, 200, 210),
    "green": (40, 190, 60),
    "red": (220, 40, 40),
    "sand": (210, 190, 120),
    "violet": (150, 40, 190),
}
FILES = ("config.json", "metrics.jsonl", "predictions.csv", "model.safetensors", "calibration.json", "strangers.json")


def draw(folder: Path, count: int, seed: int) -> Path:
    random = np.random.default_rng(seed)
    for name, color in COLORS.items():
        (folder / name).mkdir(parents=True)
        for number in range(count):
            noise = random.normal(0, 30, (64, 64, 3))
            pixels = np.clip(np.array(color) + noise, 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    return folder


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Six colors of five pictures: fewer of one than there are colors."""
    collection, _ = from_folders(find_images(draw(tmp_path / "photos", 5, seed=0)), ["blue", "cyan", "green"])
    options = RunOptions(
        n_classes=6,
        image_size=64,
        views=2,
        epochs=2,
        settings={"batch_size": 16, "projector_hidden": 16, "projector_out": 8},
        near_duplicates="apart",
        cache=tmp_path / "cache",
        device="cpu",
        threads=1,
    )
    return Job(collection, options)


def dying_after(epochs: int) -> Callable[..., None]:
    remember = Journal.remember

    def dying(self: Journal, *parts: Any) -> None:
        remember(self, *parts)
        if len(self.entries) == epochs:
            raise KeyboardInterrupt

    return dying


def test_a_killed_run_ends_with_the_bytes_of_a_whole_one(
    job: Job, tmp_path: Path, settled: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = discover(job, tmp_path / "whole")
    assert settled == [30]
    monkeypatch.setattr(journal_module, "SECONDS_BETWEEN_CHECKPOINTS", 0)
    for killed_after in (1, 2):
        cut = tmp_path / f"cut after {killed_after}"
        with monkeypatch.context() as killing:
            killing.setattr(Journal, "remember", dying_after(killed_after))
            with pytest.raises(KeyboardInterrupt):
                discover(job, cut)
        discover(job, cut, resume=True)
        for name in FILES:
            assert (cut / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert settled == [30, 30, 30], "each once"
    assert len(set(whole.discovery.predicted)) == 6


def test_large_classes_are_left_as_training_found_them(job: Job, settled: list[int]) -> None:
    discover(job.changed(n_classes=5, epochs=1))
    assert settled == []  # six images of one class, five classes


def test_a_settled_model_knows_what_is_strange(job: Job, tmp_path: Path) -> None:
    discover(job, tmp_path / "run")
    model = LegoGCD.load(tmp_path / "run", device="cpu")
    stripes = np.broadcast_to(255 * ((np.arange(64) // 4) % 2)[:, None, None], (64, 64, 3)).astype(np.uint8)
    others = draw(tmp_path / "inbox", 4, seed=1)
    assert model.strangeness(np.stack([stripes, stripes.swapaxes(0, 1)])).min() > np.median(model.strangeness(others))
