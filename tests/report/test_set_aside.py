"""What a person set aside is not part of a report or of an export, and that is said."""

import shutil
from pathlib import Path

from page_reader import Reader

from legogcd.export import Include, export_run
from legogcd.report.page import build_report
from legogcd.report.page.suspicions import suspicions
from legogcd.run.categories import append_edit, setting_aside


def set_aside(finished, tmp_path) -> tuple[Path, str]:
    run = Path(shutil.copytree(finished.folder, tmp_path / "run"))
    name = finished.images.names[finished.duplicates[1]]
    append_edit(run, setting_aside(run, images=[name]))
    return run, name


def test_the_page_is_about_the_others(finished, tmp_path) -> None:
    run, name = set_aside(finished, tmp_path)
    build_report(run, finished.shown(), tmp_path / "page.html")
    page = Reader((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "1 image set aside: not on this page." in page.text
    assert f"{len(finished.images) - 1} images in" in page.text
    assert name not in page.text
    assert "These two images look like" not in page.text, "its twin has nothing to be like any more"


def test_suspicions_name_rows_of_predictions_and_none_of_what_was_set_aside(finished, tmp_path) -> None:
    whole = suspicions(finished.folder, finished.shown())
    twins = next(found for found in whole if found["kind"] == "duplicates")
    assert twins["images"] == list(finished.duplicates)
    wrong = [found["images"] for found in whole if found["kind"] == "wrong-labels"]
    assert [finished.wrong_label] in wrong
    run, _ = set_aside(finished, tmp_path)
    rest = suspicions(run, finished.shown())
    assert not [found for found in rest if found["kind"] == "duplicates"]
    assert [finished.wrong_label] in [found["images"] for found in rest], "rows are still those of predictions.csv"


def test_an_export_leaves_them_out_unless_they_are_asked_for(finished, tmp_path) -> None:
    run, name = set_aside(finished, tmp_path)
    done = export_run(run, "csv", tmp_path / "rest", images=finished.images.root)
    assert done.images == len(finished.images) - 1
    assert done.set_aside == 1
    assert done.not_asked_for == 0
    assert any("1 image set aside left out" in line for line in done.lines())
    only = export_run(run, "csv", tmp_path / "only", images=finished.images.root, include=Include(["rejected"]))
    assert only.images == 1
    row = (tmp_path / "only" / "categories.csv").read_text(encoding="utf-8").splitlines()[1]
    assert name in row
    assert ",set aside,rejected," in row
