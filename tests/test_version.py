"""One version: the package's, the changelog's and the wheel's; and a front door that opens without torch."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import legogcd

ROOT = Path(__file__).parents[1]


def test_the_changelog_begins_with_this_version() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest
    assert newest[1] == legogcd.__version__


def test_the_wheel_has_this_version_and_everything_the_package_reads(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "legogcd", tmp_path / "legogcd", ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", str(tmp_path)]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (tmp_path / "dist").iterdir()
    assert wheel.name == f"legogcd-{legogcd.__version__}-py3-none-any.whl"
    package = {f"legogcd/{file.relative_to(ROOT / 'legogcd')}" for file in (ROOT / "legogcd").rglob("*.*")}
    missing = {name for name in package if "__pycache__" not in name} - set(zipfile.ZipFile(wheel).namelist())
    assert not missing


def test_the_package_shows_what_there_is_without_torch() -> None:
    script = (
        "import sys, legogcd; names = dir(legogcd); assert 'torch' not in sys.modules; "
        "print(*(name for name in names if getattr(legogcd, name) is not None))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"LegoGCD", "bricks", "methods", "vision", "run"} <= set(done.stdout.split())
