"""``legogcd reproduce`` from a data set on disk to the paper's row with ours beside it."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dataset_trees import record
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.paper.reproduce.trials import cut, stratified
from legogcd.paper.splits import paper_split

RunCLI = Callable[..., Any]


@pytest.fixture
def cifar10(tmp_path: Path) -> Path:
    """CIFAR-10 in its binary layout with ten images a class, told apart by color."""
    folder = tmp_path / "data" / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)

    def colored(label: int) -> bytes:
        red, green, blue = 20 + 20 * label, 200 * (label % 2), 220 - 20 * label
        return record([label], *(int(np.clip(c + random.integers(-5, 6), 0, 250)) for c in (red, green, blue)))

    for number in range(1, 6):
        (folder / f"data_batch_{number}.bin").write_bytes(b"".join(colored(c) for c in [*range(10)] * 2))
    (folder / "test_batch.bin").write_bytes(b"".join(colored(c) for c in [*range(10)] * 2))
    return tmp_path / "data"


@pytest.fixture
def reproduce(run_cli: RunCLI, tiny_vit: Path, tmp_path: Path) -> RunCLI:
    def run(*arguments: object) -> Any:
        fixed = ["--backbone", tiny_vit, "--image-size", 32, "--views", 2, "--epochs", 2, "--cache", tmp_path / "cache"]
        return run_cli("reproduce", *arguments, *fixed, "--out", tmp_path / "results", "--device", "cpu")

    return run


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_data_set_gets_the_papers_row_ours_and_the_difference(
    reproduce: RunCLI, cifar10: Path, tmp_path: Path, tiny_vit: Path
) -> None:
    done = reproduce("cifar10", "--root", cifar10, "--method", "kmeans,simgcd,legogcd", "--seeds", 2)
    assert done.exit_code == 0, done.stderr
    rows = rows_of(tmp_path / "results" / "reproduce.csv")
    assert [(row["method"], row["seed"]) for row in rows] == [
        (method, str(seed)) for seed in (0, 1) for method in ("kmeans", "simgcd", "legogcd")
    ]
    assert all(0 <= float(row[score]) <= 1 for row in rows for score in ("all", "old", "new", "test_all", "test_new"))
    assert {row["setup"] for row in rows} == {f"{tiny_vit.name}, 32 px, 2 epochs, 2 kept views"}
    assert not (tmp_path / "results" / "reproduce.json").exists()
    printed = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("|")]
    lines = {
        line[0].strip(): line[1:] for line in reversed(printed)
    }  # the first table is the one held against the paper
    assert [cell.strip() for cell in lines["k-means"][:3]] == ["83.6", "85.7", "82.5"]  # as published
    ours = np.mean([100 * float(row["all"]) for row in rows if row["method"] == "kmeans"])
    assert lines["k-means"][3].strip().startswith(f"{ours:.1f} ±")
    assert lines["k-means"][7].strip().replace("−", "-").replace("+", "") == f"{round(ours, 1) - 83.6:.1f}"
    assert [cell.strip() for cell in lines["Δ LegoGCD"][:3]] == ["+0.2", "+0.5", "0.0"]


def test_what_is_there_is_not_run_again_and_can_be_collected(reproduce: RunCLI, cifar10: Path) -> None:
    first = reproduce("cifar10", "--root", cifar10, "--method", "simgcd", "--seeds", 1)
    assert "run 1 of 1" in first.stderr
    again = reproduce("cifar10", "--root", cifar10, "--method", "simgcd", "--seeds", 1)
    assert "run 1" not in again.stderr
    assert again.stdout == first.stdout
    collected = reproduce("table3", "--collect")
    assert collected.exit_code == 0
    assert "CIFAR-100; ours: no runs yet" in collected.stdout
    for form in ("csv", "latex"):
        assert "SimGCD rerun" in reproduce("cifar10", "--collect", "--method", "simgcd", "--format", form).stdout


def test_a_table_runs_what_its_data_sets_allow(reproduce: RunCLI, cifar10: Path, tmp_path: Path) -> None:
    done = reproduce("ablation-threshold", "--root", cifar10, "--seeds", 1)
    assert done.exit_code == 0, done.stderr
    assert "so not run: Stanford Cars, CIFAR-100" in done.stderr
    rows = rows_of(tmp_path / "results" / "reproduce.csv")
    assert [(row["method"], row["settings"]) for row in rows] == [
        ("simgcd", ""),
        ("legogcd", "threshold=0.85"),
        ("legogcd", "threshold=0.9"),
        ("legogcd", ""),
        ("legogcd", "threshold=0.97"),
    ]


def test_table_one_counts_what_is_found(reproduce: RunCLI, cifar10: Path) -> None:
    done = reproduce("table1", "--root", cifar10)
    line = next(line for line in done.stdout.splitlines() if line.startswith("| CIFAR-10 "))
    assert [cell.strip() for cell in line.split("|")[2:10]] == ["12,500", "37,500", "5", "10", "25", "75", "5", "10"]


def test_runs_can_be_drawn(reproduce: RunCLI, run_cli: RunCLI, cifar10: Path, tmp_path: Path) -> None:
    reproduce("cifar10", "--root", cifar10, "--method", "simgcd,legogcd", "--seeds", 1)
    runs = sorted(path.parent for path in (tmp_path / "results").rglob("config.json"))
    assert len(runs) == 2
    done = run_cli("figures", *runs, "--out", tmp_path / "figures")
    assert done.exit_code == 0, done.stderr
    assert {"old.png", "selected.png", "tsne.png", "confidence.png", "old.svg"} <= {
        path.name for path in (tmp_path / "figures").iterdir()
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cifar"], "unknown data set or table 'cifar'; there are: cifar10"),
        (["cifar10"], "--root is needed"),
        (["cifar10", "--root", "nowhere"], "'nowhere', does not exist"),
        (["cifar10", "--root", ".", "--method", "simgdc"], "unknown method 'simgdc'"),
        (["cifar10", "--root", ".", "--method", ","], "--method names no method"),
        (["cifar10", "--root", ".", "--set", "beta"], "expected different NAME=VALUE pairs"),
    ],
)
def test_mistakes_are_one_line(run_cli: RunCLI, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run_cli("reproduce", *arguments, "--out", tmp_path)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_setting_no_method_has_is_said_before_anything_is_run(reproduce: RunCLI, cifar10: Path) -> None:
    done = reproduce("cifar10", "--root", cifar10, "--set", "betta=1")
    assert done.exit_code == 2
    assert "unknown setting 'betta'" in done.stderr
    assert "run 1" not in done.stderr


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 60))
def test_a_stratified_part_has_every_groups_share(groups: list[int], count: int) -> None:
    rows = stratified(np.array(groups), count)
    assert len(rows) == min(count, len(groups))
    assert sorted(set(rows.tolist())) == rows.tolist()
    share = len(rows) / len(groups)
    for group in set(groups):
        of_group = groups.count(group)
        chosen = sum(groups[row] == group for row in rows)
        assert abs(chosen - share * of_group) <= 1 + 1e-9


def test_a_cut_keeps_the_shares_of_classes_and_labels(cifar10: Path) -> None:
    whole = paper_split("cifar10", cifar10)
    part = cut(whole, 40)
    assert (len(part.collection), int(part.collection.labelled.sum()), part.collection.n_known) == (40, 10, 5)
    assert np.bincount(part.truth.encode(part.collection)).tolist() == [4] * 10
    names = list(whole.collection.images.names)
    rows = [names.index(name) for name in part.collection.images.names]
    np.testing.assert_array_equal(whole.collection.labels[rows], part.collection.labels)
    assert len(part.test.collection) == 20
