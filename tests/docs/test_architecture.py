"""The architecture page names files and functions that are there, and its picture has every room."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def test_files_and_functions_of_the_tables_are_there() -> None:
    checked = 0
    for row in (line for line in PAGE.splitlines() if line.startswith("| ")):
        code = re.findall(r"`([^`]+)`", row)
        paths = [word for word in code if re.fullmatch(r"\w+(/\w+)*(/|\.py)", word)]
        for path in paths:
            assert (ROOT / "legogcd" / path).exists(), f"{path} in: {row}"
        sources = [file.read_text("utf-8") for path in paths for file in _files(ROOT / "legogcd" / path)]
        for name in (word for word in code if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)?", word) and "_" in word):
            defined = rf"(def|class) {name.rpartition('.')[2]}\b"
            everywhere = sources or [file.read_text("utf-8") for file in (ROOT / "legogcd").rglob("*.py")]
            assert any(re.search(defined, source) for source in everywhere), f"{name} in: {row}"
            checked += 1
    assert checked > 12


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def test_the_picture_has_the_rooms_of_the_import_contract_and_no_others() -> None:
    picture = (ROOT / "docs" / "house.svg").read_text("utf-8")
    drawn = set(re.findall(r'font-weight="600"[^>]*>(\w+)(?:/|\.py)<', picture))
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    rooms = {room.strip().removeprefix("legogcd.") for layer in contract["layers"] for room in layer.split("|")}
    assert drawn == rooms
