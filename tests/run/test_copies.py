"""Near-duplicates count as one in start, prior and draw and get one answer; a collection without them is as it was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from legogcd.collection import find_images, from_folders
from legogcd.display import Quiet
from legogcd.run import Job, RunOptions, discover, near_duplicates, prepare
from legogcd.run.discovery import read_predictions
from legogcd.run.near_duplicates import Copies
from legogcd.vision.fingerprints import fingerprints


def textured(seed: int, color: tuple[int, int, int]) -> Image.Image:
    """A picture of one hue with a texture of its own."""
    random = np.random.default_rng(seed)
    coarse, fine = (
        np.asarray(
            Image.fromarray(random.integers(0, 90, (size, size), np.uint8)).resize(
                (120, 120), Image.Resampling.BICUBIC
            ),
            float,
        )
        for size in (12, 40)
    )
    return Image.fromarray(np.clip(np.array(color) + (coarse + fine - 90)[..., None], 0, 255).astype(np.uint8))


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four hues of eight photos; one photo without a label, known/…, has five versions more."""
    root = tmp_path_factory.mktemp("photos")
    for number, (name, color) in enumerate(
        {"blue": (60, 80, 200), "green": (60, 180, 70), "red": (200, 60, 60), "sand": (200, 180, 120)}.items()
    ):
        (root / name).mkdir()
        for place in range(8):
            textured(100 * number + place, color).save(root / name / f"{place}.png")
    burst = textured(200, (200, 60, 60))
    for place, light in enumerate((0.8, 0.9, 1.1, 1.2, 1.05)):
        ImageEnhance.Brightness(burst).enhance(light).save(root / "red" / f"0-again-{place}.jpg", quality=80)
    return root


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> RunOptions:
    """The default backbone and recipe, small."""
    return RunOptions(
        n_classes=4,
        image_size=64,
        views=2,
        epochs=2,
        settings={"batch_size": 16, "projector_hidden": 16, "projector_out": 8},
        cache=tmp_path_factory.mktemp("cache"),
        device="cpu",
        threads=1,
    )


def test_versions_are_learned_from_once_and_get_one_answer(photos: Path, options: RunOptions, tmp_path: Path) -> None:
    collection, _ = from_folders(find_images(photos), ["blue", "green"])
    prepared = prepare(Job(collection, options), Quiet())
    prepared.find_copies(Quiet())
    names = collection.images.names
    burst = {row for row, name in enumerate(names) if name.startswith("red/0")}
    assert {row for row, of in enumerate(prepared.copies.stands_in) if row != of} | {min(burst)} == burst
    assert len(prepared.learned_from.rows) == 32
    outcome = discover(Job(collection, options), tmp_path / "run")
    table = read_predictions(tmp_path / "run").set_index("path")
    answers = {(table["category"][names[row]], table["confidence"][names[row]]) for row in burst}
    assert len(answers) == 1
    assert outcome.copies is not None
    assert "6 images are copies, versions or a burst of one photo" in (outcome.copies.sentence() or "")
    lines = (tmp_path / "run" / "near_duplicates.csv").read_text().splitlines()
    others = [names[row] for row in sorted(burst)[1:]]
    assert lines == ["path,same_as", *(f"{name},{names[min(burst)]}" for name in others)]


def test_without_near_duplicates_a_run_has_the_same_bytes_as_with_every_file_counting(
    photos: Path, options: RunOptions, tmp_path: Path
) -> None:
    images = find_images(photos)
    alone = images.subset([row for row, name in enumerate(images.names) if "again" not in name])
    collection, _ = from_folders(alone, ["blue", "green"])
    for how in ("as-one", "apart"):
        discover(Job(collection, options.changed(near_duplicates=how)), tmp_path / how)
    for name in ("predictions.csv", "model.safetensors", "metrics.jsonl", "calibration.json", "strangers.json"):
        assert (tmp_path / "as-one" / name).read_bytes() == (tmp_path / "apart" / name).read_bytes()


def test_versions_turned_off_count_each(photos: Path, options: RunOptions) -> None:
    collection, _ = from_folders(find_images(photos), ["blue", "green"])
    prepared = prepare(Job(collection, options.changed(near_duplicates="apart")), Quiet())
    prepared.find_copies(Quiet())
    assert prepared.copies.extra == 0
    assert len(prepared.learned_from.rows) == 37


def test_a_labelled_image_stands_for_its_copies_and_labels_that_differ_stay_apart() -> None:
    labels = np.array([-1, 3, 3, -1, 5, -1])
    found = Copies.of_sets([(0, 1, 2, 4), (3, 5)], labels)
    assert found.stands_in.tolist() == [1, 1, 1, 3, 4, 3]
    assert found.distinct.tolist() == [1, 3, 4]
    assert found.distinct[found.place].tolist() == found.stands_in.tolist()
    assert found.extra == 3
    assert Copies.none(3).sentence() is None


def test_copies_of_a_labelled_image_are_what_it_is_labelled_and_no_label_leaks_into_what_is_held_out(
    photos: Path, options: RunOptions
) -> None:
    """The label of one version is known; whatever the model thinks, the others are that too."""
    images = find_images(photos)
    collection, _ = from_folders(images, ["blue", "red"], 0.5)
    labels = collection.labels.copy()
    burst = [row for row, name in enumerate(images.names) if name.startswith("red/0")]
    labels[burst] = -1
    labels[burst[2]] = collection.known.index("red")
    from dataclasses import replace

    marked = replace(collection, labels=labels)
    outcome = discover(Job(marked, options.changed(held_out=0.3)))
    assert {outcome.discovery.categories[row] for row in burst} == {"red"}
    prepared = prepare(Job(marked, options.changed(held_out=0.3)), Quiet())
    prepared.find_copies(Quiet())
    assert set(prepared.held_out) <= set(prepared.copies.distinct)


def test_the_command_says_it(photos: Path, options: RunOptions, tmp_path: Path, run_cli: Callable[..., Any]) -> None:
    done = run_cli(
        *(
            "discover",
            photos,
            "--labels",
            "folders",
            "--known",
            "blue,green",
            "--classes",
            4,
            "--out",
            tmp_path / "run",
        ),
        *("--image-size", 64, "--views", 2, "--epochs", 1, "--cache", options.cache, "--no-report"),
        *("--set", "batch_size=16", "--set", "projector_hidden=16", "--set", "projector_out=8", "--threads", 1),
    )
    assert done.exit_code == 0
    assert "6 images are copies, versions or a burst of one photo" in done.stdout
    assert "doubtful: 2 of 2 known classes had fewer than 5 labelled images ('blue', 'green')" in done.stdout
    assert f"try: legogcd confirm {tmp_path / 'run'} blue" in done.stdout


def test_a_search_is_made_once_for_the_same_views_and_again_when_what_it_left_is_damaged(
    photos: Path, options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[int] = []
    monkeypatch.setattr(
        near_duplicates, "fingerprints", lambda images, rows, *_: searched.append(1) or fingerprints(images, rows)
    )
    collection, _ = from_folders(find_images(photos), ["blue", "green"])
    prepared = prepare(Job(collection, options.changed(cache=tmp_path)), Quiet())
    prepared.find_copies(Quiet())
    found = prepared.copies.stands_in.tolist()
    assert prepared.copies.extra == 5
    prepared.find_copies(Quiet())
    assert (prepared.copies.stands_in.tolist(), len(searched)) == (found, 1)
    assert prepared.opened.folder is not None
    left = prepared.opened.folder / near_duplicates.REMEMBERED
    left.write_text(left.read_text().replace("[[", "[[0, "))
    prepared.find_copies(Quiet())
    assert (prepared.copies.stands_in.tolist(), len(searched)) == (found, 2)


def test_images_that_hardly_differ_all_count(options: RunOptions, tmp_path: Path) -> None:
    """Were copies to count as one, nothing would be left for the new groups."""
    for number in range(12):
        picture = np.full((40, 40, 3), 40 + 60 * (number % 3), np.uint8)
        (tmp_path / "flat" / str(number % 3)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(tmp_path / "flat" / str(number % 3) / f"{number}.png")
    collection, _ = from_folders(find_images(tmp_path / "flat"), ["0", "1"])
    prepared = prepare(Job(collection, options.changed(n_classes=9)), Quiet())
    prepared.find_copies(Quiet())
    assert prepared.copies.extra == 0
