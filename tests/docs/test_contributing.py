"""CONTRIBUTING.md tells the truth: its diffs apply to a copy of the package, and what they add works by name."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRY_OUT = """
import inspect, json, sys
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import legogcd
from legogcd import LegoGCD
from legogcd.cli import app
from legogcd.export import export_run
from legogcd.paper.datasets import dataset_named

home = Path(sys.argv[1])
assert Path(legogcd.__file__).is_relative_to(home), legogcd.__file__
random = np.random.default_rng(0)
images = np.clip(np.array([(200, 60, 60), (60, 60, 200), (60, 200, 60)])[np.arange(36) % 3][:, None, None]
                 + random.normal(0, 20, (36, 32, 32, 3)), 0, 255).astype(np.uint8)
labels = [["red", "blue", None][i % 3] if i < 18 else None for i in range(36)]

def fitted(**options):
    chosen = dict(n_classes=3, backbone="colors", image_size=32, views=2, epochs=2, cache=home / "views") | options
    return LegoGCD(**chosen).fit(images, labels)

plugged = fitted(method="legogcd:agree", settings={"agree.temperature": 0.2}, remark="first try")
assert "agree" in plugged.metrics_[-1]["terms"]
assert plugged.model_.method.bricks["agree"].temperature == 0.2
assert plugged.model_.backbone.family == "colors"
terms = fitted(method="simgcd-classifier").metrics_[-1]["terms"]
assert set(terms) == {"supervised_ce", "self_distillation", "mean_entropy"}, terms
assert LegoGCD(n_classes=3, backbone="colors").get_params()["remark"] is None
assert "remark" in inspect.signature(LegoGCD).parameters and "A line to remember the run by." in LegoGCD.__doc__
plugged.save(home / "run")
assert json.loads((home / "run" / "config.json").read_text())["options"]["remark"] == "first try"
done = export_run(home / "run", "lists", home / "lists")
assert done.images == 36 and (home / "lists" / "000.txt").read_text().startswith("blue\\n")

shown = lambda *words: CliRunner().invoke(app, words).output
assert "--remark" in shown("discover", "--help") and "lists" in shown("export", "--help")
assert "simgcd-classifier" in shown("methods") and ":agree" in shown("methods")
assert "colors" in shown("backbones") and "pets" in shown("datasets")
pets = home / "oxford-iiit-pet"
(pets / "annotations").mkdir(parents=True)
(pets / "images").mkdir()
(pets / "annotations" / "trainval.txt").write_text("Abyssinian_1 1 1 1\\nbeagle_7 2 2 1\\n")
assert dataset_named("pets").load(home, "train").class_names == ("Abyssinian", "beagle")
print("all of it works")
"""


@pytest.fixture
def diffs() -> list[str]:
    return re.findall(r"^```diff\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_what_the_diffs_add_works_by_name(diffs: list[str], tmp_path: Path) -> None:
    assert len(diffs) == 6
    shutil.copytree(ROOT / "legogcd", tmp_path / "legogcd", ignore=shutil.ignore_patterns("__pycache__"))
    for diff in diffs:
        applied = subprocess.run(
            ["git", "apply", "--unidiff-zero", "-"], input=diff, cwd=tmp_path, text=True, capture_output=True
        )
        assert applied.returncode == 0, f"{applied.stderr}\n{diff}"
    (tmp_path / "try_out.py").write_text(TRY_OUT, "utf-8")
    done = subprocess.run(
        [sys.executable, "try_out.py", str(tmp_path)],
        cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.stdout.endswith("all of it works\n"), done.stdout + done.stderr


def test_what_the_diffs_add_is_linted_like_the_rest(diffs: list[str], tmp_path: Path) -> None:
    for diff in diffs:
        for path, body in re.findall(r"^--- /dev/null\n\+\+\+ b/(\S+)\n@@.*\n((?:\+.*\n)+)", diff, re.MULTILINE):
            source = "".join(line[1:] + "\n" for line in body.splitlines())
            for check in (["check"], ["format", "--check"]):
                config = ["--config", str(ROOT / "pyproject.toml"), "--stdin-filename", path]
                done = subprocess.run(
                    [sys.executable, "-m", "ruff", *check, *config, "-"], input=source, text=True, capture_output=True
                )
                assert done.returncode == 0, f"{path}: {done.stdout}{done.stderr}"
