"""A prediction in parts: stopped anywhere, the same command makes what is missing and nothing else."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from legogcd.collection import find_images, from_folders
from legogcd.errors import UserError
from legogcd.locks import Locked
from legogcd.run import Job, RunOptions, discover, prediction_parts
from legogcd.run.predict import predict_run
from legogcd.run.prediction_parts import Parts, here
from legogcd.vision.views.shards import Shard
from legogcd.vision.views.store import Progress


class Stopped(Exception):  # noqa: N818
    """As if the process had died."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, tiny_vit: Path) -> tuple[Path, Path]:
    """A run, and its pictures with one among them that cannot be read."""
    from example_pictures import write_pictures

    folder = tmp_path_factory.mktemp("finished")
    pictures = write_pictures(folder / "pictures")
    (pictures / "green" / "03b.png").write_bytes(b"no picture")
    collection, _ = from_folders(find_images(pictures), ["blue", "green"])
    options = RunOptions(n_classes=4, backbone=str(tiny_vit), image_size=32, views=2, epochs=1, cache=folder / "cache")
    discover(Job(collection, options.changed(settings={"batch_size": 16, "projector_hidden": 16})), folder / "run")
    return folder / "run", pictures


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction_parts, "PART_IMAGES", 5)


def dies_after(most: int):
    def engine(parts: Parts, folder: Path, shards: Sequence[Shard], progress: Progress) -> int:
        here(parts, folder, shards[-most:], progress)  # any order will do
        raise Stopped

    return engine


def watched(made: list[int]):
    def engine(parts: Parts, folder: Path, shards: Sequence[Shard], progress: Progress) -> int:
        made.extend(shard.number for shard in shards)
        return here(parts, folder, shards, progress)

    return engine


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_stopped_prediction_goes_on_with_what_is_missing(finished, tmp_path: Path, suffix: str) -> None:
    run, pictures = finished
    images, out = find_images(pictures), tmp_path / f"table{suffix}"
    made: list[int] = []
    whole = predict_run(run, images, tmp_path / f"whole{suffix}", engine=watched(made))
    assert made == list(range(7))
    with pytest.raises(Stopped):
        predict_run(run, images, out, engine=dies_after(3))
    assert not out.exists()
    made.clear()
    found = predict_run(run, images, out, engine=watched(made))
    assert made == [0, 1, 2, 3]
    assert out.read_bytes() == (tmp_path / f"whole{suffix}").read_bytes()
    assert found == whole
    assert list(found.unreadable) == ["green/03b.png"]
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".unfinished"] == []


def test_what_is_damaged_or_of_another_question_is_made_again(finished, tmp_path: Path) -> None:
    run, pictures = finished
    images, out, folder = find_images(pictures), tmp_path / "table.csv", tmp_path / "table.csv.unfinished"
    with pytest.raises(Stopped):
        predict_run(run, images, out, engine=dies_after(7))
    part = folder / "part-00002.parquet"
    part.write_bytes(part.read_bytes()[:-3] + b"\0\0\0")
    (folder / "00004.json").write_text("{}")
    made: list[int] = []
    with pytest.raises(Stopped):
        predict_run(run, images, out, engine=lambda *given: (watched(made)(*given), dies_after(1)(*given))[0])
    assert made == [2, 4]
    made.clear()
    predict_run(run, images, out, unsure_below=0.99, engine=watched(made))
    assert made == list(range(7))
    table = pd.read_csv(out)
    assert table["unsure"].tolist() == (table["confidence"] < 0.99).tolist()
    assert table["unsure"].any()


def test_parts_themselves_may_be_the_table(finished, tmp_path: Path, run_cli) -> None:
    run, pictures = finished
    done = run_cli("predict", run, pictures, "--out", tmp_path / "sorted.parts")
    assert done.exit_code == 0, done.stderr
    assert [path.name for path in sorted((tmp_path / "sorted.parts").iterdir())] == [
        f"part-{number:05d}.parquet" for number in range(7)
    ]
    predict_run(run, find_images(pictures), tmp_path / "one.parquet")
    together = pd.read_parquet(tmp_path / "sorted.parts")
    pd.testing.assert_frame_equal(together, pd.read_parquet(tmp_path / "one.parquet"))
    refused = run_cli("predict", run, pictures, "--out", tmp_path / "sorted.parts")
    assert "is there already" in refused.stderr
    assert run_cli("predict", run, pictures, "--out", tmp_path / "sorted.parts", "--overwrite").exit_code == 0
    with pytest.raises(UserError, match="one file"):
        predict_run(run, find_images(pictures), tmp_path / "other.parts", group_strangers=True)


def test_groups_of_strangers_are_those_of_all_parts(finished, tmp_path: Path) -> None:
    run, pictures = finished
    images = find_images(pictures)
    with pytest.raises(Stopped):
        predict_run(run, images, tmp_path / "table.csv", false_alarms=0.5, group_strangers=True, engine=dies_after(2))
    predict_run(run, images, tmp_path / "table.csv", false_alarms=0.5, group_strangers=True)
    table = pd.read_csv(tmp_path / "table.csv")
    if table["stranger"].notna().all():
        assert not table["stranger_group"][~table["stranger"].astype(bool)].notna().any()
    assert len(table) == 32


def test_two_at_once_are_refused_and_nothing_of_others_is_touched(finished, tmp_path: Path) -> None:
    run, pictures = finished
    images, out = find_images(pictures), tmp_path / "table.csv"

    def second(*_: object) -> int:
        predict_run(run, images, out)
        return 0

    with pytest.raises(Locked, match="in use by"):
        predict_run(run, images, out, engine=second)
    (tmp_path / "table.csv.unfinished").mkdir(exist_ok=True)
    (tmp_path / "table.csv.unfinished" / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="holds something else"):
        predict_run(run, images, out)
    assert (tmp_path / "table.csv.unfinished" / "mine.txt").read_text() == "mine"
    assert not out.exists()
