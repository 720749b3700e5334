"""What very many images take lies in a file that nobody sees, and in memory where there is no room for it."""

import os
from pathlib import Path

import numpy as np
import pytest

from legogcd.vision import mapped_arrays
from legogcd.vision.mapped_arrays import large_zeros


def test_a_large_array_lies_in_a_file_that_leaves_nothing_behind(tmp_path: Path) -> None:
    array = large_zeros((mapped_arrays.LARGE // 8, 2), np.float32, tmp_path)
    assert isinstance(array, np.memmap)
    assert not array.any()
    array[-1] = 7.0
    assert array[-1].tolist() == [7.0, 7.0]
    assert list(tmp_path.iterdir()) == []


def test_what_is_small_or_has_no_folder_is_in_memory(tmp_path: Path) -> None:
    for array in (large_zeros((3, 2), np.uint8, tmp_path), large_zeros((mapped_arrays.LARGE,), np.uint8, None)):
        assert not isinstance(array, np.memmap)
        assert not array.any()


def test_a_disk_without_room_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert not isinstance(large_zeros((mapped_arrays.LARGE,), np.uint8, tmp_path), np.memmap)
