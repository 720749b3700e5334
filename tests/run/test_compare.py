"""``legogcd compare``: several methods on one collection, one cache, one table, one picture."""

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from legogcd.errors import UserError
from legogcd.evaluation.results import Result
from legogcd.run.compare import table
from legogcd.run.own_process import in_own_process

RunCLI = Callable[..., Any]


@pytest.fixture
def compare(run_cli: RunCLI, tiny_vit: Path, pictures: Path, tmp_path: Path) -> RunCLI:
    def run(*arguments: object) -> Any:
        fixed = ["--labels", "folders", "--known", "blue,green", "--backbone", tiny_vit, "--image-size", 32]
        fixed += ["--views", 2, "--cache", tmp_path / "cache", "--device", "cpu", "--out", tmp_path / "compared"]
        return run_cli("compare", pictures, *fixed, *arguments)

    return run


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_methods_are_compared_in_one_table_and_one_picture(compare: RunCLI, tmp_path: Path) -> None:
    arguments = ("--methods", "kmeans,simgcd", "--seeds", 2, "--epochs", 1, "--set", "projector_hidden=16")
    done = compare(*arguments)
    assert done.exit_code == 0, done.stderr
    rows = rows_of(tmp_path / "compared" / "results.csv")
    assert [(row["method"], row["seed"], row["epochs"]) for row in rows] == [
        ("kmeans", "0", "0"),
        ("simgcd", "0", "1"),
        ("kmeans", "1", "0"),
        ("simgcd", "1", "1"),
    ]
    assert all(float(row["seconds"]) > 0 and int(row["peak_memory"]) > 10_000_000 for row in rows)
    assert [row["settings"] for row in rows[:2]] == ["", "projector_hidden=16"]  # k-means has no projector
    shown = done.stdout.split("\n\n")[1].splitlines()
    kept = (tmp_path / "compared" / "table.md").read_text().splitlines()
    assert [line.split()[0] for line in shown[:3]] == ["method", "kmeans", "simgcd"]
    assert [line.split("|")[1].strip() for line in kept] == ["method", "---", "kmeans", "simgcd"]
    for line, row in zip(shown[1:3], kept[2:], strict=True):
        method, _, _, *cells = row.strip("| ").split(" | ")
        assert line.split() == " ".join([method, *cells]).split()
    assert max(map(len, shown)) <= 80
    assert "run 4 of 4: simgcd, seed 1" in done.stderr
    assert re.search(r"\n4 runs in (\d+ seconds|\d+ minutes)\n", done.stderr)
    with Image.open(tmp_path / "compared" / "comparison.png") as picture:
        assert picture.width > 500
    again = compare(*arguments)
    assert "run 1 of" not in again.stderr  # everything is there
    assert again.stdout == done.stdout


def test_the_table_is_mean_and_sample_deviation() -> None:
    def result(seed: int, all_: float) -> Result:
        scores = {"all": all_, "old": 0.5, "new": None, "forgetting": None}
        fixed = {"images": 10, "epochs": 3, "seconds": 4.0, "peak_memory": 1_500_000_000}
        return Result(dataset="birds", method="simgcd", seed=seed, **scores, **fixed)

    values = [0.6, 0.7, 0.9]
    line = table([result(seed, value) for seed, value in enumerate(values)]).splitlines()[2]
    mean, deviation = 100 * np.mean(values), 100 * np.std(values, ddof=1)
    assert [cell.strip() for cell in line.split("|")[1:-1]] == [
        *("simgcd", "3", "3", f"{mean:.1f} ± {deviation:.1f}", "50.0 ± 0.0", "–", "–", "4", "1.5 GB")
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "kmeans,simgdc"], "unknown method 'simgdc'"),
        (["--methods", "kmeans", "--set", "beta=1"], "setting 'beta' belongs to none of the methods kmeans"),
        (["--methods", ","], "--methods names no method"),
        (["--classes", "many"], "--classes many: expected a number, or auto"),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_run(
    compare: RunCLI, tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = compare(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "compared" / "runs").exists()


def test_methods_cannot_be_compared_without_truth(run_cli: RunCLI, pictures: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("path,label\nblue/00.png,blue\ngreen/00.png,green\n")
    done = run_cli("compare", pictures, "--labels", labels, "--classes", 4, "--out", tmp_path / "compared")
    assert (done.exit_code, "--truth is needed" in done.stderr) == (2, True)


def test_a_function_in_its_own_process_returns_and_tells_its_memory() -> None:
    total, small = in_own_process(sum, [1, 2])
    size, large = in_own_process(fill, 300_000_000)
    assert (total, size) == (3, 300_000_000)
    assert large - small > 250_000_000


def fill(size: int) -> int:
    import time

    block = np.ones(size, np.uint8)
    time.sleep(0.3)  # long enough to be looked at
    return int(block.sum())


def test_what_goes_wrong_apart_is_raised_here() -> None:
    with pytest.raises(UserError, match="no such thing"):
        in_own_process(complain, "no such thing")


def complain(message: str) -> None:
    raise UserError(message)
