"""The quick part of ``python -m bench.faults``: a few of each; the long one is docs/reliability.md."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.faults.mutations import mutated
from bench.faults.targets import Target, inputs, outcome, targets
from legogcd.edits import Name
from legogcd.errors import UserError
from legogcd.files import parse_json
from legogcd.locks import try_lock
from legogcd.run.categories import append_edit
from legogcd.run.model import read_calibration
from legogcd.training.files import read_metrics

INPUTS = 100
SLOW = {"stanford_cars cars_train_annos.mat": 6, "stanford_cars cars_meta.mat": 6, "cifar10 data_batch_2.bin": 40}


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> list[Target]:
    return list(targets(tmp_path_factory.mktemp("fuzz") / "targets"))


@pytest.mark.filterwarnings("ignore")
def test_wrong_files_are_read_or_refused_in_one_line_by_every_reader(readers: list[Target]) -> None:
    assert len(readers) >= 30
    for reader in readers:
        for content in reader.seeds:
            assert outcome(reader, content) == "read", reader.name
        for content in inputs(reader, SLOW.get(reader.name, INPUTS)):
            assert outcome(reader, content) in ("read", "refused"), (reader.name, content[:2000])


def test_mutations_are_many_and_the_same_for_a_seed() -> None:
    import random

    content = b'{"a": [1, 2, 3], "b": "text"}'
    made = [mutated(content, random.Random(seed)) for seed in range(200)]
    assert made == [mutated(content, random.Random(seed)) for seed in range(200)]
    assert len(set(made) - {content}) > 150


def test_json_nested_without_end_is_no_json() -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        parse_json("[" * 100_000)


@pytest.mark.parametrize("line", [b"\xff\xfe", b"null", b"[" * 100_000, b'{"epoch": 2'])
def test_a_log_ends_where_a_line_is_no_entry(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(b'{"epoch": 1}\n' + line + b'\n{"epoch": 3}\n')
    assert read_metrics(tmp_path) == [{"epoch": 1}]


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="this system follows links when it opens files")
def test_a_lock_that_is_a_link_writes_nowhere(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "run.lock").symlink_to(tmp_path / "mine")
    with pytest.raises(UserError, match="is a link"):
        try_lock(tmp_path / "run.lock")
    assert (tmp_path / "mine").read_text() == "precious"


def test_an_edit_does_not_follow_a_log_that_is_a_link(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    header = "path,category,status,confidence,predicted\n"
    (run / "predictions.csv").write_text(header + "a.jpg,new-001,novel,0.6000,new-001\n")
    (run / "edits.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="is a link"):
        append_edit(run, Name("new-001", "owl"))
    assert not (tmp_path / "elsewhere").exists()


def test_a_log_that_is_a_pipe_lets_nobody_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "edits.jsonl")
    header = "path,category,status,confidence,predicted\n"
    (tmp_path / "predictions.csv").write_text(header + "a.jpg,new-001,novel,0.6000,new-001\n")
    with pytest.raises(UserError, match="no file"):
        append_edit(tmp_path, Name("new-001", "owl"))


@pytest.mark.parametrize("found", ['{"threshold": 8.6}', '{"temperature": 1e999}', '{"temperature": NaN}'])
def test_a_calibration_that_says_nothing_is_refused(tmp_path: Path, found: str) -> None:
    (tmp_path / "calibration.json").write_text(found)
    with pytest.raises(UserError, match="not a calibration"):
        read_calibration(tmp_path)


def discovered(run_cli: Callable[..., Any], pictures: Path, tiny_vit: Path, run: Path, *more: str) -> Any:
    words = ["discover", pictures, "--labels", "folders", "--known", "blue,green", "--out", run, "--no-report"]
    words += ["--backbone", tiny_vit, "--image-size", "32", "--views", "2", "--epochs", "1", "--device", "cpu"]
    words += ["--set", "batch_size=16", "--set", "projector_hidden=16", "--set", "projector_out=8"]
    return run_cli(*words, "--cache", run.parent / "cache", *more)


def test_damage_in_any_sealed_file_is_found_and_resuming_mends_it(
    run_cli: Callable[..., Any], pictures: Path, tiny_vit: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    assert discovered(run_cli, pictures, tiny_vit, run).exit_code == 0
    sealed = json.loads((run / "manifest.json").read_text())["files"]
    assert {"collection.csv", "skipped.csv", "sample.safetensors"} <= sealed.keys()
    whole = {name: (run / name).read_bytes() for name in sealed}
    for name in ("collection.csv", "skipped.csv", "sample.safetensors"):
        damaged = bytearray(whole[name])
        damaged[len(damaged) // 2] ^= 8
        (run / name).write_bytes(damaged)
        assert run_cli("check", run).exit_code == 2, name
    sealing = (run / "manifest.json").read_text()
    for damage in ("{", sealing.replace("skipped.csv", "skipqed.csv")):
        (run / "manifest.json").write_text(damage)
        assert run_cli("check", run).exit_code == 2
        assert discovered(run_cli, pictures, tiny_vit, run, "--resume").exit_code == 0
        assert (run / "manifest.json").read_text() == sealing
    assert {name: (run / name).read_bytes() for name in sealed} == whole
