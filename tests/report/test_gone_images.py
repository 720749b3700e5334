"""Reports of runs whose images are gone or named by a stranger: the rest is shown, and what is missing is said."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from page_reader import Reader

from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.report.page import report_run
from legogcd.run.manifest import seal


class Told(Quiet):
    """Remembers what a person would have been told."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def run(pictures: Path, tiny_vit: Path, tmp_path: Path, run_cli: Callable[..., Any]) -> Path:
    """A finished run on 32 pictures, its views in ``cache``."""
    done = run_cli(
        *("discover", pictures, "--labels", "folders", "--known", "blue,green", "--out", tmp_path / "run"),
        *("--cache", tmp_path / "cache", "--backbone", tiny_vit, "--image-size", 32, "--epochs", 1),
        *("--set", "batch_size=16", "--views", 2),
    )
    assert done.exit_code == 0, done.stderr
    return tmp_path / "run"


def page_of(run: Path, **options: Any) -> tuple[Reader, Told]:
    told = Told()
    written = report_run(run, run.parent / "page.html", device="cpu", display=told, **options)
    return Reader(written.read_text("utf-8")), told


def shown_without(reader: Reader) -> list[str]:
    """Images on a page that have no thumbnail."""
    names, pictures = reader.json("data")["names"], reader.json("thumbnails-0")
    assert len(names) == len(pictures)
    return [name for name, picture in zip(names, pictures, strict=True) if not picture]


def test_images_that_are_gone_are_named_and_the_others_shown(run: Path, pictures: Path, tmp_path: Path) -> None:
    whole, _ = page_of(run, cache=tmp_path / "none")
    (pictures / "blue" / "03.png").unlink()
    (pictures / "red" / "00.png").write_bytes(b"no picture")
    reader, told = page_of(run, cache=tmp_path / "none")
    data = reader.json("data")
    assert len(data["names"]) == 30
    assert not {"blue/03.png", "red/00.png"} & set(data["names"])
    assert "2 images of the run cannot be read any more and are not on this page: " in reader.text
    assert "blue/03.png (file not found)" in reader.text
    assert len(told.warnings) == 1
    assert "2 unreadable images left out: 'blue/03.png (" in told.warnings[0]
    before = dict(zip(whole.json("data")["names"], whole.json("data")["confidence"], strict=True))
    assert {name: before[name] for name in data["names"]} == dict(zip(data["names"], data["confidence"], strict=True))


def test_images_that_are_gone_stay_on_the_page_where_the_run_kept_their_views(
    run: Path, pictures: Path, tmp_path: Path
) -> None:
    whole, _ = page_of(run, cache=tmp_path / "cache")
    (pictures / "blue" / "03.png").unlink()
    (pictures / "red" / "00.png").unlink()
    reader, told = page_of(run, cache=tmp_path / "cache")
    assert any("using kept views" in note for note in told.notes)
    assert told.warnings == []
    assert reader.json("data")["names"] == whole.json("data")["names"]
    assert reader.json("data")["confidence"] == whole.json("data")["confidence"]
    assert shown_without(reader) == ["blue/03.png", "red/00.png"]
    assert "30 of 32 images have a thumbnail in this page. 2 could not be read." in reader.text


def test_kept_views_of_other_images_are_not_taken_for_the_runs(
    run: Path, pictures: Path, tmp_path: Path, tiny_vit: Path, run_cli: Callable[..., Any]
) -> None:
    """As many images, the same backbone and size: only what they show is different."""
    cache = tmp_path / "cache"
    for folder in cache.iterdir():
        folder.rename(tmp_path / f"old-{folder.name}")
    turned = tmp_path / "turned"
    for number, color in enumerate(("yellow", "red", "green", "blue")):
        (turned / str(number)).mkdir(parents=True)
        for path in (pictures / color).iterdir():
            (turned / str(number) / path.name).write_bytes(path.read_bytes())
    done = run_cli(
        *("discover", turned, "--labels", "folders", "--known", "0,1", "--out", tmp_path / "other"),
        *("--cache", cache, "--backbone", tiny_vit, "--image-size", 32, "--epochs", 1),
        *("--set", "batch_size=16", "--views", 2),
    )
    assert done.exit_code == 0, done.stderr
    (pictures / "blue" / "03.png").unlink()
    reader, told = page_of(run, cache=cache)
    assert not any("using kept views" in note for note in told.notes)
    assert len(reader.json("data")["names"]) == 31


def test_only_a_run_without_any_image_left_is_an_error(run: Path, pictures: Path, tmp_path: Path) -> None:
    files = sorted(pictures.rglob("*.png"))
    for path in files[:-1]:
        path.unlink()
    reader, _ = page_of(run, cache=tmp_path / "none")
    assert reader.json("data")["names"] == [files[-1].relative_to(pictures).as_posix()]
    files[-1].unlink()
    with pytest.raises(UserError, match="none of the run's images can be read") as stopped:
        page_of(run, cache=tmp_path / "none")
    assert "\n" not in str(stopped.value)


def test_a_run_from_elsewhere_is_reported_with_the_images_its_user_names(
    run: Path, pictures: Path, tmp_path: Path, tiny_vit: Path
) -> None:
    foreign = run.rename(tmp_path / "downloaded")
    with pytest.raises(UserError, match="--images"):
        page_of(foreign, cache=tmp_path / "none")
    with pytest.raises(UserError, match="--backbone"):
        page_of(foreign, cache=tmp_path / "none", images=pictures)
    reader, _ = page_of(foreign, cache=tmp_path / "none", images=pictures, backbone=str(tiny_vit))
    assert len(reader.json("data")["names"]) == 32


def test_names_that_lead_out_of_the_folder_are_named_and_never_opened(
    run: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes((pictures / "red" / "00.png").read_bytes())
    (pictures / "blue" / "00.png").unlink()
    (pictures / "blue" / "00.png").symlink_to(secret)
    table = pd.read_csv(run / "predictions.csv", dtype=str)
    assert table["path"][0] == "blue/00.png"
    table.loc[1, "path"] = str(secret)
    table.loc[2, "path"] = "../secret.png"
    table.loc[3, "path"] = "red/../../secret.png"
    table.to_csv(run / "predictions.csv", index=False, lineterminator="\n")
    seal(run, ["predictions.csv"])
    opened = _watch_opened(monkeypatch)
    reader, told = page_of(run, cache=tmp_path / "none")
    assert secret.resolve() not in {path.resolve() for path in opened}
    assert len(opened) > 0
    assert len(reader.json("data")["names"]) == 28
    for name in ("blue/00.png", str(secret), "../secret.png", "red/../../secret.png"):
        assert name in told.warnings[0]
        assert name in reader.text


def _watch_opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every picture that is read, wherever it is read for."""
    from legogcd.vision import fingerprints, small_picture
    from legogcd.vision.views import draw

    opened: list[Path] = []
    for module in (fingerprints, small_picture, draw):
        read = module.read_rgb

        def watched(item: Path, *arguments: Any, read: Any = read, **options: Any) -> np.ndarray:
            opened.append(item)
            pixels: np.ndarray = read(item, *arguments, **options)
            return pixels

        monkeypatch.setattr(module, "read_rgb", watched)
    return opened
