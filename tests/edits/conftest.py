from pathlib import Path

import pytest
from edited_run import write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "my run")
