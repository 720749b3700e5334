from pathlib import Path

import pytest
from exported_runs import ROWS, write_run
from PIL import Image


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for number, (name, *_) in enumerate(ROWS):
        file = tmp_path / "my photos" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8 + number, 6)).save(file)
    return write_run(tmp_path / "run", ROWS, tmp_path / "my photos")
