"""A process's own memory: what it fills counts, a file it maps does not, and a child's is its own."""

from pathlib import Path

import numpy as np
import pytest

from legogcd.errors import UserError
from legogcd.run.own_process import in_own_process, own_memory

MEGABYTE = 2**20


def fill(megabytes: int) -> int:
    return int(np.ones(megabytes * MEGABYTE, np.uint8).sum()) // MEGABYTE


def complain() -> None:
    raise UserError("told from the other process")


def fill_and_map(file: Path) -> tuple[int, int]:
    """How much more memory is the process's own after filling 64 MB, and after reading as much from a mapped file."""
    before = own_memory()
    held = np.ones(64 * MEGABYTE, np.uint8)
    filled = own_memory() - before
    held.tofile(file)
    assert int(np.memmap(file, np.uint8, "r").sum()) == held.size
    return filled, own_memory() - before


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells mapped files apart")
def test_memory_that_is_filled_counts_and_a_mapped_file_does_not(tmp_path: Path) -> None:
    (filled, mapped), _ = in_own_process(fill_and_map, tmp_path / "file")
    assert 60 * MEGABYTE < filled < 80 * MEGABYTE
    assert mapped < filled + 16 * MEGABYTE


def test_the_most_memory_of_a_function_apart_is_told() -> None:
    result, least = in_own_process(fill, 1)
    assert result == 1
    result, most = in_own_process(fill, 200)
    assert result == 200
    assert most - least > 150 * MEGABYTE


def test_an_error_in_the_other_process_is_raised_here() -> None:
    with pytest.raises(UserError, match="told from the other process"):
        in_own_process(complain)
