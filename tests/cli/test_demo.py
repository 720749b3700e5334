"""The demo on real digits, cut to a moment."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from legogcd import demo
from legogcd.methods import choose_recipe


def test_the_digits_are_written_as_pictures(tmp_path: Path) -> None:
    demo.write_digits(tmp_path, count=200)
    digits = load_digits()
    for number in (0, 57, 199):
        with Image.open(tmp_path / str(digits.target[number]) / f"{number:04d}.png") as image:
            small = np.asarray(image.resize((8, 8), Image.Resampling.BOX), dtype=float)
        assert np.corrcoef(small.ravel(), digits.images[number].ravel())[0, 1] > 0.95
    assert len(list(tmp_path.rglob("*.png"))) == 200


def test_the_demo_prints_a_table_and_leaves_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "DIGITS", 150)
    monkeypatch.setattr(demo, "IMAGE_SIZE", 32)
    quick = {"epochs": 1, "projector_hidden": 32, "batch_size": 32}
    monkeypatch.setattr(demo, "choose_recipe", lambda *named: choose_recipe(*named, quick))
    said: list[str] = []
    demo.run_demo(tmp_path / "demo", 0, said.append)
    text = "\n".join(said)
    for word in ("k-means", "simgcd", "legogcd", "All", "Old", "New", "forgetting of Old"):
        assert word in text
    for picture in ("legogcd/groups.png", "legogcd/curves.png", "simgcd/groups.png"):
        assert (tmp_path / "demo" / picture).stat().st_size > 1000
        assert "groups.png" in text
    demo.run_demo(tmp_path / "demo", 0, said.append)
    assert (tmp_path / "demo-2" / "legogcd" / "predictions.csv").exists()
