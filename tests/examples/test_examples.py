"""The examples run as they stand, without a network, and show what they promise."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOK = EXAMPLES / "discover_digits.ipynb"
NO_NETWORK = {"HF_HUB_OFFLINE": "1", "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}


def run_script(name: str, folder: Path) -> str:
    environment = os.environ | NO_NETWORK | {"XDG_CACHE_HOME": str(folder), "PYTHONPATH": str(EXAMPLES.parent)}
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def share(text: str, name: str) -> float:
    """A percentage behind its name."""
    found = re.search(rf"{name} ([\d.]+)%", text)
    assert found, text
    return float(found[1])


def test_bricks_in_your_loop_keeps_the_known_digits_and_finds_others(tmp_path: Path) -> None:
    said = run_script("bricks_in_your_loop.py", tmp_path)
    assert share(said, "All") > 55  # seeds 0 to 3: 63 to 72
    assert share(said, "New") > 40  # 46 to 68


def test_sort_your_photos_names_a_group_and_the_next_round_knows_it(tmp_path: Path) -> None:
    said = run_script("sort_your_photos.py", tmp_path)
    name = re.search(r"is called (\w+) now", said)
    assert name
    round_two = next(line for line in said.splitlines() if line.startswith("round two"))
    assert re.search(rf"classes: .*\b{name[1]}\b.*, new-001;", round_two), "the named group is known, one is still new"
    assert float(re.findall(r"(\d+)% have", round_two)[0]) >= 70  # a quarter is of the shape that nobody named


def test_new_brick_is_a_term_of_the_loss(tmp_path: Path) -> None:
    plain, plugged = run_script("new_brick.py", tmp_path).splitlines()
    assert "agree" not in plain
    assert plugged.startswith("legogcd:agree")
    assert re.search(r"agree 0\.\d+$", plugged)


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (NO_NETWORK | {"XDG_CACHE_HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path)}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(
        output.get("text", "") for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
    )
    assert share(printed, "All") > 40


def test_the_notebook_is_kept_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
