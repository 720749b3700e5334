"""The page as a file: complete, safe with any file name, small, the same every time."""

import csv
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from finished_run import write_run
from page_reader import Reader
from PIL import Image

from legogcd.collection import ImageFiles, as_images
from legogcd.edits import Merge, Name
from legogcd.errors import UserError
from legogcd.report.page import PageImages, build_report, report_run
from legogcd.report.page.repeat import repeat_command
from legogcd.report.page.sampling import sampled_rows
from legogcd.report.page.thumbnails import make_thumbnails
from legogcd.report.page.visible_text import visible
from legogcd.run.categories import append_edit
from legogcd.run.config import read_config
from legogcd.run.discovery import read_predictions


@pytest.fixture(scope="module")
def page(finished: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("page") / "report.html"
    build_report(finished.folder, finished.shown(), out)
    return out.read_text("utf-8")


def test_the_page_counts_what_the_run_found(page: str) -> None:
    text = " ".join(Reader(page).text.split())
    assert "120 images in 2 known classes and 2 new groups" in text
    for count in ("120 images in all", "30 labelled", "2 new groups with 60 images"):
        assert count in text


def test_a_page_of_very_many_images_is_about_a_sample_and_says_so(finished: Any, tmp_path: Path) -> None:
    rows = sampled_rows(read_predictions(finished.folder)["category"], most=100, count=60)
    assert rows is not None
    shown = PageImages(finished.images.subset(rows), finished.features[rows], finished.probabilities[rows], sample=rows)
    build_report(finished.folder, shown, tmp_path / "report.html")
    reader = Reader((tmp_path / "report.html").read_text("utf-8"))
    text = " ".join(reader.text.split())
    assert "This page is about a sample: 60 of 120 images, at least 5 of every group" in text
    for count in ("120 images in 2 known classes and 2 new groups", "120 images in all", "30 labelled"):
        assert count in text
    assert "2 new groups with 60 images" in text
    assert reader.json("data")["names"] == [finished.images.names[row] for row in rows]
    few = sampled_rows(read_predictions(finished.folder)["category"], most=100, count=20)
    assert np.bincount(few // 30).min() >= 4  # of each of the four groups


def test_the_wrong_label_and_the_duplicate_are_named(page: str, finished: Any) -> None:
    text = Reader(page).text
    assert f"{finished.images.names[finished.wrong_label]} is labelled <b onclick" in text
    assert "These two images look like the same picture, both in owl." in text
    rows = [attributes["data-row"] for tag, attributes in Reader(page).tags if "data-row" in attributes]
    assert {str(row) for row in (finished.wrong_label, *finished.duplicates)} <= set(rows)


def test_no_name_becomes_markup(page: str, finished: Any) -> None:
    reader = Reader(page)
    assert not [tag for tag, _ in reader.tags if tag in ("img", "b", "i")]
    assert not [name for _, attributes in reader.tags for name in attributes if name.startswith("on")]
    data = reader.json("data")
    assert data["names"] == list(finished.images.names)
    executed = [attributes for attributes, _ in reader.scripts if attributes.get("type") != "application/json"]
    assert len(executed) == 1


def test_the_page_asks_nothing_of_a_network(page: str) -> None:
    policy = next(a["content"] for t, a in Reader(page).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    linked = [a.get("src") or a.get("href") or "" for _, a in Reader(page).tags]
    assert all(link.startswith(("#", "data:")) or not link for link in linked)
    assert not re.search(r"https?://|url\(|@import|fetch\(|XMLHttpRequest", page)


def test_every_image_has_a_point_and_a_thumbnail(page: str) -> None:
    reader = Reader(page)
    data = reader.json("data")
    assert len(data["x"]) == len(data["y"]) == len(data["group"]) == 120
    pictures = reader.json("thumbnails-0")
    assert len(pictures) == 120
    assert all(pictures)
    assert "120 of 120 images have a thumbnail" in reader.text


def test_every_button_and_field_can_be_named(page: str) -> None:
    """What a screen reader says: each heading level follows the one before, each field has a label."""
    tags = Reader(page).tags
    levels = [int(tag[1]) for tag, _ in tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert [a.get("lang") for t, a in tags if t == "html"] == ["en"]
    identifiers = [a["id"] for _, a in tags if "id" in a]
    assert len(identifiers) == len(set(identifiers))


def test_the_same_run_gives_the_same_bytes(page: str, finished: Any, tmp_path: Path) -> None:
    build_report(finished.folder, finished.shown(), tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text("utf-8") == page


def test_names_and_merges_made_since_are_followed(finished: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for file in finished.folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    append_edit(folder, Name("new-001", "snowy owl"))
    append_edit(folder, Merge("owl", ("new-002",)))
    build_report(folder, finished.shown(), tmp_path / "report.html")
    data = Reader((tmp_path / "report.html").read_text("utf-8")).json("data")
    assert data["groups"][0] == "owl"
    assert data["groups"][2:] == ["snowy owl"]
    assert data["known"] == [1, 1, 0]
    both = finished.probabilities[:, [0, 3]].sum(1)
    sure_owls = np.flatnonzero(both > 0.6)
    assert np.array(data["confidence"])[sure_owls].tolist() == np.rint(100 * both[sure_owls]).astype(int).tolist()


def test_pictures_that_are_gone_leave_a_page_that_says_so(finished: Any, tmp_path: Path) -> None:
    gone = ImageFiles(tmp_path, finished.images.names)
    build_report(finished.folder, finished.shown(gone), tmp_path / "report.html")
    text = Reader((tmp_path / "report.html").read_text("utf-8")).text
    assert "0 of 120 images have a thumbnail in this page. 120 could not be read." in text


def test_thumbnails_stay_within_the_budget_and_featured_ones_come_first() -> None:
    images = as_images(np.random.default_rng(0).integers(0, 256, (60, 140, 140, 3), dtype=np.uint8))
    roomy = make_thumbnails(images, range(60), [3, 50])
    assert len(roomy.pictures[3]) > 1.3 * len(roomy.pictures[4])
    tight = make_thumbnails(images, range(60), [3, 50], budget=30_000)
    assert sum(map(len, tight.pictures)) <= 30_000
    assert tight.pictures[3]
    assert tight.pictures[50]
    assert tight.left_out == sum(not picture for picture in tight.pictures) > 0


def test_arrays_of_another_run_are_refused(finished: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="do not belong to this run"):
        build_report(
            finished.folder,
            PageImages(finished.images, finished.features[:-1], finished.probabilities),
            tmp_path / "report.html",
        )


def test_the_command_that_repeats_a_run_has_its_options(finished: Any) -> None:
    config = read_config(finished.folder)
    options = config.options.changed(settings={"beta": 1.5}, held_out=0.2)
    command = repeat_command(config.model_copy(update={"options": options}))
    assert command.startswith("legogcd discover 'the photos' --from RUN --classes 4 --method legogcd")
    assert re.findall(r"--set (\S+)", command) == ["beta=1.5"]
    assert "--held-out 0.2" in command
    assert command.endswith("--out NEW")


def test_report_run_gives_what_the_run_predicted(
    pictures: Path, tiny_vit: Path, tmp_path: Path, run_cli: Callable[..., Any]
) -> None:
    run, cache = tmp_path / "run", tmp_path / "cache"
    done = run_cli(
        *("discover", pictures, "--labels", "folders", "--known", "blue,green", "--out", run, "--cache", cache),
        *("--backbone", tiny_vit, "--image-size", 32, "--epochs", 1, "--set", "batch_size=16", "--views", 2),
    )
    assert done.exit_code == 0, done.stderr
    from_views = report_run(run, tmp_path / "views.html", device="cpu", cache=cache).read_text("utf-8")
    encoded = report_run(run, tmp_path / "fresh.html", device="cpu", cache=tmp_path / "none").read_text("utf-8")
    table = [line.split(",") for line in (run / "predictions.csv").read_text().splitlines()[1:]]
    for text in (from_views, encoded):
        data = Reader(text).json("data")
        assert data["names"] == [row[0] for row in table]
        assert [data["groups"][group] for group in data["group"]] == [row[1] for row in table]
        expected = [round(100 * float(row[3])) for row in table]
        assert np.abs(np.array(data["confidence"]) - expected).max() <= 1
    moved = pictures.rename(tmp_path / "moved")
    with pytest.raises(UserError, match="--images"):
        report_run(run, tmp_path / "gone.html", device="cpu", cache=cache)
    assert report_run(run, images=moved, device="cpu", cache=cache) == run / "report.html"


def test_an_unreadable_picture_does_not_stop_the_report(finished: Any, tmp_path: Path) -> None:
    for number, name in enumerate(finished.images.names):
        path = tmp_path / "pictures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if number == 20:
            path.write_bytes(b"no picture")
        else:
            Image.new("RGB", (20, 20), (number, 0, 0)).save(path, format="PNG")
    images = ImageFiles(tmp_path / "pictures", finished.images.names)
    build_report(finished.folder, finished.shown(images), tmp_path / "report.html")
    reader = Reader((tmp_path / "report.html").read_text("utf-8"))
    assert reader.json("thumbnails-0")[20] == ""
    assert "119 of 120 images have a thumbnail in this page. 1 could not be read." in reader.text


def test_control_characters_and_turned_text_in_names_are_written_out(tmp_path: Path) -> None:
    names = ("\x1b[31mred\x07.png", "photo\u202egnp.exe", "two\nlines\u2028.png", "family 👩\u200d👧\u00a0é.png")
    run = write_run(tmp_path, per_group=12, first=names)
    build_report(run.folder, run.shown(), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202a-\u202e\u2066-\u2069]", page)
    shown = [r"\x1b[31mred\x07.png", r"photo\u202egnp.exe", r"two\nlines\u2028.png", names[3]]
    assert Reader(page).json("data")["names"][:4] == shown
    for name in shown:
        assert name in Reader(page).text


def test_half_a_character_is_written_out() -> None:
    assert visible("caf\udce9.png") == r"caf\udce9.png"
    assert visible("ordinary ☃ name.png") == "ordinary ☃ name.png"


def test_images_left_out_are_said_on_the_page_and_counted_nowhere(finished: Any, tmp_path: Path) -> None:
    gone = dict.fromkeys(finished.images.names[:7], "file not found")
    rest = PageImages(finished.images, finished.features[7:], finished.probabilities[7:], gone)
    build_report(finished.folder, rest, tmp_path / "report.html")
    reader = Reader((tmp_path / "report.html").read_text("utf-8"))
    assert "7 images of the run cannot be read any more and are not on this page: '<img src=x" in reader.text
    assert "and 2 more." in reader.text
    assert "113 images in 2 known classes" in reader.text
    assert reader.json("data")["names"] == list(finished.images.names[7:])
    assert not [tag for tag, _ in reader.tags if tag == "img"]


def test_nothing_is_written_about_no_images(finished: Any, tmp_path: Path) -> None:
    gone = dict.fromkeys(finished.images.names, "file not found")
    none = PageImages(finished.images, finished.features[:0], finished.probabilities[:0], gone)
    with pytest.raises(UserError, match="nothing to report on: 120 images of the run cannot be read any more"):
        build_report(finished.folder, none, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_collapsed_run_says_so_before_anything_else(page: str, tmp_path: Path) -> None:
    assert "collapsed" not in page
    run = write_run(tmp_path, per_group=12)
    lines = (run.folder / "predictions.csv").read_text("utf-8").splitlines()
    all_owls = [lines[0], *(f"{line.rsplit(',', 1)[0]},owl" for line in lines[1:])]
    (run.folder / "predictions.csv").write_text("\n".join(all_owls) + "\n", encoding="utf-8")
    build_report(run.folder, run.shown(), tmp_path / "report.html")
    text = Reader((tmp_path / "report.html").read_text("utf-8")).text
    assert text.index("The training collapsed: 48 of 48 images are put into one class") < text.index(
        "Check these first"
    )


def test_a_doubt_ends_with_a_period_and_its_command_where_it_ends(tmp_path: Path) -> None:
    run = write_run(tmp_path, per_group=4)  # new groups of four images
    build_report(run.folder, run.shown(), tmp_path / "report.html")
    text = Reader((tmp_path / "report.html").read_text("utf-8")).text
    said = [line.strip() for line in text.splitlines()]
    assert any(line.startswith("Doubtful: ") and line.endswith(".") for line in said)
    (command,) = [line for line in said if line.startswith("Try: legogcd ")]
    assert not command.endswith(".")


def test_labelled_images_are_not_counted_as_found_or_unsure(page: str, finished: Any) -> None:
    found = np.array([row["status"] for row in _table(finished)])
    confidence = np.array([float(row["confidence"]) for row in _table(finished)])
    text = " ".join(Reader(page).text.split())
    assert f"{(found == 'known').sum()} known found in 2 known classes" in text
    doubtful = int(((found != "labelled") & (finished.probabilities.max(1) < 0.5)).sum())
    assert f"{doubtful} unsure best guess below 50 %" in text
    assert np.abs(confidence - finished.probabilities.max(1)).max() < 1e-3


def test_the_second_choice_is_the_most_likely_group_but_one(page: str, finished: Any) -> None:
    data = Reader(page).json("data")
    order = np.argsort(-finished.probabilities, axis=1, kind="stable")
    assert data["predicted"] == order[:, 0].tolist()
    assert data["second"] == order[:, 1].tolist()
    shares = np.take_along_axis(finished.probabilities, order[:, 1:2], axis=1)[:, 0]
    assert data["secondShare"] == np.rint(100 * shares).astype(int).tolist()


def _table(finished: Any) -> list[dict[str, str]]:
    with open(finished.folder / "predictions.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
