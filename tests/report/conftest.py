"""What the report's tests share."""

import pytest
from finished_run import Finished, write_run


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Shared by all tests that only read it."""
    return write_run(tmp_path_factory.mktemp("finished"))
