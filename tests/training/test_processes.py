"""The law of several processes: N of them with a part of a batch each are one process with all of it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from several_processes import EVERY_METHOD, everything, together

from legogcd import launched
from legogcd.demo import write_digits
from legogcd.run.discovery import read_predictions
from legogcd.training.processes import Processes
from legogcd.vision.features import stored_states
from legogcd.vision.views.fresh import FreshViews


def assert_alike(one: dict[str, Any], other: dict[str, Any], tolerance: float) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(
            other[name], tensor, atol=tolerance, rtol=tolerance, msg=lambda said, name=name: f"{name}: {said}"
        )


def unturned(tensors: dict[str, Any]) -> dict[str, Any]:
    """A model's tensors with the whitening and the prototypes behind it as one: only that product says anything.

    The axes that a whitening finds among trained features may point the other way for the last digit of a feature.
    """
    ends = ("whitening.map", "prototypes.weight")
    places = {end: next(name for name in tensors if name.endswith(end)) for end in ends}
    whitening, prototypes = (tensors[places[end]] for end in ends)
    rest = {name: tensor for name, tensor in tensors.items() if name not in places.values()}
    return rest | {"classes": whitening @ torch.nn.functional.normalize(prototypes, dim=-1).T}  # [D, K]


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six digits in folders of their own."""
    folder = tmp_path_factory.mktemp("digits") / "images"
    write_digits(folder, 150)
    for number in range(6, 10):
        shutil.rmtree(folder / str(number))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("together")


@pytest.fixture(scope="module")
def alone(digits: Path, folder: Path) -> dict[str, Any]:
    """What one process makes of it."""
    return everything(Processes(), folder, digits)


@pytest.fixture(scope="module", params=[2, 3])
def several(request: pytest.FixtureRequest, digits: Path, folder: Path) -> list[dict[str, Any]]:
    """What each of two, and each of three processes makes of it."""
    return together(request.param, folder, digits)


def test_every_method_and_brick_has_the_loss_and_gradients_of_one_process(
    alone: dict[str, Any], several: list[dict[str, Any]]
) -> None:
    for found in several:
        for steps in ("steps", "uneven steps"):
            for method in EVERY_METHOD:
                assert_alike(alone[steps][method], found[steps][method], 1e-6)


def test_gradients_are_added_and_not_averaged(several: list[dict[str, Any]]) -> None:
    """The trap: of a loss over gathered rows, the average that is usual elsewhere is N times too small."""
    exact = 2 * 3.0 * torch.linspace(-1, 1, 10, dtype=torch.float64).square().mean()  # d/dw mean (w·x)² at w = 3
    for found in several:
        torch.testing.assert_close(found["mean square"]["gradient"].squeeze(), exact)
    averaged = torch.stack([found["mean square"]["part"].squeeze() for found in several]).mean()
    torch.testing.assert_close(averaged, exact / len(several))


@pytest.mark.parametrize("batches", ["shared", "one batch"])
def test_what_is_shared_is_the_same_everywhere(
    alone: dict[str, Any], several: list[dict[str, Any]], batches: str
) -> None:
    for found in several:
        assert torch.equal(found[batches]["turns"], alone[batches]["turns"])
        assert found[batches]["agreed"] == 7
        assert_alike(alone[batches]["module"], found[batches]["module"], 0)
        pairs = zip(alone[batches]["momentum"], found[batches]["momentum"], strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)


def test_a_start_is_found_once_and_sent_to_the_others(several: list[dict[str, Any]]) -> None:
    assert [found["settled"]["asked"] for found in several] == [[0], *([[]] * (len(several) - 1))]
    assert {found["settled"]["start"] for found in several} == {5.0}


def test_a_process_without_an_image_of_its_own_asks_nothing_of_the_tail() -> None:
    """Of 120 images there is one batch: the second process has none, and a ViT's tail would not bear it."""
    assert (
        list(stored_states(FreshViews.__new__(FreshViews), torch.zeros(0, dtype=torch.int64), torch.device("cpu")))
        == []
    )


def test_runs_of_one_two_and_three_processes_learn_and_score_the_same(
    alone: dict[str, Any], several: list[dict[str, Any]], folder: Path
) -> None:
    for found in several:
        assert found["run"]["scores"] == alone["run"]["scores"]
        assert torch.equal(found["run"]["predicted"], alone["run"]["predicted"])
        assert_alike(unturned(alone["run"]["tensors"]), unturned(found["run"]["tensors"]), 1e-4)
    ours, theirs = (read_predictions(folder / f"run-{count}") for count in (1, len(several)))
    assert ours.drop(columns="confidence").equals(theirs.drop(columns="confidence"))
    assert (ours["confidence"] - theirs["confidence"]).abs().max() < 1.5e-4  # of four digits, the last may be another


def command(digits: Path, cache: Path, out: Path) -> list[str]:
    options = ["--labels", "folders", "--known", "0,1,2", "--classes", "6", "--image-size", "64", "--epochs", "8"]
    where = ["--cache", str(cache), "--out", str(out)]
    return ["discover", str(digits), *options, *where, "--no-report", "--threads", "1"]


def test_a_run_that_two_processes_began_goes_on_in_one(digits: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    python = [sys.executable, "-m"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    launcher = [*python, "torch.distributed.run", "--nproc-per-node", "2", "-m", "legogcd"]
    with subprocess.Popen(
        [*launcher, *command(digits, tmp_path / "cache", other)], env=environment, stderr=subprocess.PIPE, text=True
    ) as begun:
        while begun.poll() is None and len(_log(other)) < 2:
            time.sleep(0.05)
        begun.send_signal(signal.SIGTERM)
        said = begun.communicate(timeout=120)[1]
    assert 2 <= len(_log(other)) < 8, said
    for out, more in ((other, ["--resume"]), (one, [])):
        arguments = [*python, "legogcd", *command(digits, tmp_path / "cache", out), *more]
        subprocess.run(arguments, env=environment, check=True, capture_output=True)
    assert [entry["all"] for entry in _log(one)] == [entry["all"] for entry in _log(other)]
    ours, theirs = (unturned(load_file(run / "model.safetensors")) for run in (one, other))
    assert_alike(ours, theirs, 1e-4)


def _log(run: Path) -> list[dict[str, Any]]:
    path = run / "metrics.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def test_only_the_first_process_speaks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from legogcd.display import Screen

    Screen().note("hello")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    Screen().note("once more")
    assert capsys.readouterr().err == "hello\n"
    assert (launched.rank(), launched.count()) == (1, 2)


def test_what_one_process_does_is_refused_in_several(run_cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = run_cli("methods")
    assert done.exit_code == 2
    assert done.stderr == "legogcd: methods runs in one process; start it without torchrun or accelerate launch\n"
