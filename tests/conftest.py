"""What several rooms' tests share: a tiny ViT in the hub's own folder format, and a small collection of pictures."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from example_pictures import write_pictures
from hypothesis import HealthCheck, settings
from transformers import ViTConfig, ViTModel

from legogcd.cli import main

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")  # a busy machine is no failure
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

if "PYTEST_XDIST_WORKER" in os.environ:  # one process per core already: more threads would fight over them
    torch.set_num_threads(1)
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # of the processes that tests start


@pytest.fixture(autouse=True, scope="session")
def _own_state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs made by tests are not noted among the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
        yield


@pytest.fixture(scope="session")
def tiny_vit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random two-layer ViT for 32-pixel images, saved as the hub saves one."""
    folder = tmp_path_factory.mktemp("tiny-vit")
    config = ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=32, patch_size=16
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        ViTModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Four classes of eight pictures."""
    return write_pictures(tmp_path / "pictures")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A real browser, for one file at a time: Playwright's event loop would be in the way of other tests."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium found (Debian: apt-get install chromium)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=180_000)
        yield browser
        browser.close()


@dataclass
class Done:
    """What a command left: its exit code and what it printed."""

    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def run_cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Run the command line as its entry point does, in this process."""

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["legogcd", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return Done(int(stop.value.code or 0), printed.out, printed.err)

    return run
