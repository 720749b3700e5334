"""Images of no category: what a run keeps about them, and how `predict` and Python say it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from legogcd import LegoGCD
from legogcd.collection import find_images, from_folders
from legogcd.errors import UserError
from legogcd.run import Job, RunOptions, discover
from legogcd.run.manifest import read_manifest, seal
from legogcd.run.model import load_run
from legogcd.run.predict import predict_run

Run = Callable[..., Any]
HUES = {"blue": (40, 60, 220), "green": (40, 190, 60), "red": (220, 40, 40), "sand": (210, 190, 120)}


def draw(folder: Path, color: tuple[int, int, int], count: int, seed: int) -> None:
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    for number in range(count):
        noise = random.integers(-25, 25, (64, 64, 3))
        Image.fromarray(np.clip(np.array(color) + noise, 0, 255).astype(np.uint8)).save(folder / f"{number}.png")


def draw_stripes(folder: Path, count: int, down: bool) -> None:
    """Nothing like one color: black and white stripes, across or down."""
    folder.mkdir(parents=True)
    for number in range(count):
        stripes = 255 * ((np.arange(64) // (3 + number % 2)) % 2)
        pixels = np.broadcast_to(stripes[:, None] if down else stripes, (64, 64)).astype(np.uint8)
        Image.fromarray(np.roll(pixels, number, axis=0 if down else 1)).convert("RGB").save(folder / f"{number}.png")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A run of four hues on the default backbone, more images of the hues, and strangers of two kinds beside them."""
    root = tmp_path_factory.mktemp("strangers")
    for seed, (name, color) in enumerate(HUES.items()):
        draw(root / "photos" / name, color, 14, seed)
        draw(root / "inbox" / name, color, 6, 100 + seed)
    draw_stripes(root / "inbox" / "across", 6, down=False)
    draw_stripes(root / "inbox" / "down", 6, down=True)
    collection, _ = from_folders(find_images(root / "photos"), ["blue", "green"])
    options = RunOptions(
        n_classes=4,
        image_size=64,
        views=2,
        epochs=3,
        seed=1,  # no hue is cut in two: strangers lie well beyond what is usual, on any machine
        settings={"batch_size": 16, "projector_hidden": 16, "projector_out": 8},
        cache=root / "cache",
        device="cpu",
        threads=1,
    )
    discover(Job(collection, options), root / "run")
    return root / "run", root / "inbox", root / "photos"


def striped(table: pd.DataFrame) -> np.ndarray:
    return table["path"].str.startswith(("across", "down")).to_numpy()


def test_predict_calls_strangers_what_looks_like_no_category(finished: tuple[Path, Path, Path], tmp_path: Path) -> None:
    run, inbox, _ = finished
    found = predict_run(run, find_images(inbox), tmp_path / "table.csv", false_alarms=0.02)
    table = pd.read_csv(tmp_path / "table.csv")
    assert list(table.columns[-2:]) == ["stranger", "strangeness"]
    assert table["stranger"][striped(table)].mean() >= 0.9
    assert table["stranger"][~striped(table)].mean() <= 0.2
    assert table["strangeness"].between(0, 1).all()
    assert f"{table['stranger'].sum()} strangers, which look like none of the categories" in found.summary()


def test_the_rate_of_false_alarms_is_the_users(finished: tuple[Path, Path, Path], tmp_path: Path, run_cli: Run) -> None:
    run, inbox, _ = finished
    out, shares = tmp_path / "table.csv", []
    for rate in (0.05, 0.4):
        done = run_cli("predict", run, inbox, "--out", out, "--false-alarms", rate, "--overwrite")
        assert done.exit_code == 0
        table = pd.read_csv(out)
        shares.append(table["stranger"][~striped(table)].mean())
    assert shares[0] <= 0.15  # of 24 images that belong
    assert shares[1] == pytest.approx(0.4, abs=0.25)
    assert run_cli("predict", run, inbox, "--out", out, "--overwrite", "--false-alarms", 2).exit_code == 2


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_strangers_of_one_kind_are_collected(finished: tuple[Path, Path, Path], tmp_path: Path, suffix: str) -> None:
    run, inbox, _ = finished
    out = tmp_path / f"table{suffix}"
    predict_run(run, find_images(inbox), out, false_alarms=0.02, group_strangers=True)
    table = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".jsonl": lambda path: pd.read_json(path, lines=True)}[
        suffix
    ](out)
    table = table[table["stranger"] & striped(table)]
    across = table["path"].str.startswith("across")
    first, second = (table["stranger_group"][kind].mode()[0] for kind in (across, ~across))
    assert {first, second} == {"stranger-001", "stranger-002"}
    assert (table["stranger_group"] == np.where(across, first, second)).mean() >= 0.9


def test_python_says_the_same(finished: tuple[Path, Path, Path], tmp_path: Path) -> None:
    run, inbox, _ = finished
    model = LegoGCD.load(run, device="cpu")
    predict_run(run, find_images(inbox), tmp_path / "table.csv", false_alarms=0.02, group_strangers=True)
    written = pd.read_csv(tmp_path / "table.csv")
    table = model.predict_table(inbox, false_alarms=0.02, group_strangers=True)
    assert table["stranger"].tolist() == written["stranger"].tolist()
    assert table["stranger_group"].fillna("").tolist() == written["stranger_group"].fillna("").tolist()
    assert "stranger_group" not in model.predict_table(inbox)
    np.testing.assert_allclose(model.strangeness(inbox), written["strangeness"], atol=1e-3)
    model.save(tmp_path / "again")
    assert (tmp_path / "again" / "strangers.json").read_bytes() == (run / "strangers.json").read_bytes()


def test_what_is_usual_is_sealed_and_what_is_damaged_is_refused(
    finished: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    import shutil

    copy = tmp_path / "run"
    shutil.copytree(finished[0], copy)
    assert "strangers.json" in read_manifest(copy)
    content = json.loads((copy / "strangers.json").read_text())
    assert len(content["quantiles"]) == 201
    (copy / "strangers.json").write_text(json.dumps(content | {"quantiles": content["quantiles"][::-1]}))
    with pytest.raises(UserError, match=r"strangers\.json is not what the run wrote"):
        load_run(copy, device="cpu")
    seal(copy, ["strangers.json"])
    with pytest.raises(UserError, match="is not what a run writes about strangers"):
        load_run(copy, device="cpu")


def test_a_run_of_an_older_version_predicts_and_says_that_it_cannot_tell(
    finished: tuple[Path, Path, Path], tmp_path: Path, run_cli: Run
) -> None:
    import shutil

    old = tmp_path / "run"
    shutil.copytree(finished[0], old)
    for name in ("strangers.json", "near_duplicates.csv"):
        (old / name).unlink()
    manifest = json.loads((old / "manifest.json").read_text())
    manifest["files"] = {name: digest for name, digest in manifest["files"].items() if (old / name).exists()}
    (old / "manifest.json").write_text(json.dumps(manifest))
    done = run_cli("predict", old, finished[1], "--out", tmp_path / "old.csv", "--group-strangers")
    assert done.exit_code == 0
    assert done.stderr.count("this run has no strangers.json") == 1
    table = pd.read_csv(tmp_path / "old.csv")
    assert len(table) == 36
    assert table[["stranger", "strangeness", "stranger_group"]].isna().all(axis=None)
    assert "stranger" not in done.stdout
    with pytest.raises(UserError, match=r"this run has no strangers\.json"):
        LegoGCD.load(old, device="cpu").strangeness(finished[1])
