"""What a study compares on, and its gains: those of a paired t-test, seed by seed."""

import shlex
import statistics
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.stats import ttest_rel

from bench.accuracy.__main__ import STUDIES
from bench.accuracy.grids import GRIDS
from bench.accuracy.study import DataSet, rehearse
from bench.accuracy.study import main as study_main
from bench.accuracy.study_table import Study, draw, table
from legogcd.evaluation.results import Result, ResultBook, settings_text
from legogcd.methods import check_method, choose_recipe

SCORES = {
    ("base", "a"): [0.70, 0.74, 0.71],
    ("base", "b"): [0.50, 0.51, 0.55],
    ("other", "a"): [0.75, 0.76, 0.77],
    ("other", "b"): [0.49, 0.53, 0.58],
}


@pytest.fixture
def study() -> Study:
    rows = {
        (variant, data, seed): Result(
            dataset=data, method="m", seed=seed, images=9, epochs=1, all=value, old=value, new=value, forgetting=0.0
        )
        for (variant, data), values in SCORES.items()
        for seed, value in enumerate(values)
    }
    return Study(rows, ["base", "other"], ["a", "b"])


@pytest.mark.parametrize("data", [["a"], ["b"], ["a", "b"]])
def test_gain_and_interval_are_scipys(study: Study, data: list[str]) -> None:
    ours, base = (
        [statistics.fmean(SCORES[variant, name][seed] for name in data) for seed in range(3)]
        for variant in ("other", "base")
    )
    interval = ttest_rel(ours, base).confidence_interval(0.95)
    gain = study.gain("other", data, "all")
    assert gain is not None
    assert (gain.mean - gain.half, gain.mean + gain.half) == pytest.approx((interval.low, interval.high))


def test_only_seeds_that_both_have_on_every_set_count(study: Study) -> None:
    del study.rows["base", "b", 0]
    gain = study.gain("other", ["a", "b"], "all")
    assert gain is not None
    assert gain.mean == pytest.approx((0.02 + 0.02 + 0.06 + 0.03) / 4)
    for seed in (1, 2):
        del study.rows["other", "a", seed]
    assert study.gain("other", ["a", "b"], "all") is None


def test_the_table_shows_scores_gains_and_what_is_missing(study: Study) -> None:
    lines = list(table(study))
    assert (
        "| other | 3 | 76.0 ± 1.0 | 76.0 ± 1.0 | 76.0 ± 1.0 | 0.0 ± 0.0 | +4.3 ± 5.2 | +4.3 ± 5.2 | +4.3 ± 5.2 |"
        in lines
    )
    del study.rows["other", "b", 0], study.rows["other", "b", 1], study.rows["other", "b", 2]
    assert list(table(study))[-1] == "| other | – | – | – |  |  |  |"


def test_the_picture_is_drawn(study: Study, tmp_path) -> None:
    draw(study, tmp_path / "made" / "study.png")
    assert (tmp_path / "made" / "study.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def four_classes(tmp_path):
    """A folder with the classes a, b, c and d, twelve images each."""
    for name in "abcd":
        (tmp_path / name).mkdir()
        for number in range(12):
            Image.new("RGB", (4, 4)).save(tmp_path / name / f"{number}.png")
    return tmp_path


def test_small_and_long_tailed_collections(four_classes) -> None:
    collection, truth = DataSet(four_classes, known=2).open()
    assert collection.labelled.sum() == 12
    collection, truth = DataSet(four_classes, known=2, labelled=3, rarer=5).open()
    assert collection.counts() == {"a": 3, "b": 3}
    assert np.bincount(truth.encode(collection)).tolist() == [12, 12, 3, 3]


def test_a_rehearsal_is_scored_by_labels_alone(four_classes) -> None:
    collection, _ = DataSet(four_classes, known=3).open()
    fewer, truth = rehearse(collection)
    assert fewer.counts() == {"a": 3, "b": 3}
    labelled = {collection.images.names[row] for row in np.flatnonzero(collection.labelled)}
    shown = {collection.images.names[row] for row in np.flatnonzero(fewer.labelled)}
    assert set(truth.labels) == labelled - shown
    assert all(name.startswith(f"{label}/") for name, label in truth.labels.items())


@pytest.mark.parametrize("grid", GRIDS)
def test_every_variant_can_be_run_and_told_from_the_others(grid: str) -> None:
    variants = GRIDS[grid]
    assert len({variant.name for variant in variants}) == len(variants)
    for variant in variants:
        check_method(variant.method)
        choose_recipe(variant.recipe, variant.method, "efficientnet-lite0", variant.settings)


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("command", STUDIES)
def test_the_rows_in_results_are_found_without_training(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("bench.accuracy.study.discover", None)
    study_main([*shlex.split(command), "--shown"])
    first_table = capsys.readouterr().out.split("**")[2].strip().splitlines()
    assert len(first_table) > 3  # two lines of header, what the others are held against, and another


def test_every_row_of_the_differences_belongs_to_their_grid() -> None:
    keys = {(variant.method, settings_text(variant.settings)) for variant in GRIDS["differences"]}
    assert {(row.method, row.settings) for row in ResultBook(ROOT / "results" / "differences.csv").rows} == keys
