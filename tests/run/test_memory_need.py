"""What each phase of a large run takes: below the bounds that are promised, and no more than a plan says.

100,000 images, 1,000 classes, the default backbone, legogcd+; each phase in a process of its own, its memory read from
the system. What is made up costs time and no memory (see `bench.speed.phase_memory`).
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench.speed import phase_memory
from bench.speed.phase_memory import CLASSES, IMAGES, labels_of
from legogcd.run.memory_need import report_arrays, sorting_arrays, start_arrays
from legogcd.run.own_process import in_own_process
from legogcd.training.draw import MOST_CLUSTERED

GIGABYTE, DIM = 10**9, 1280
ONE_NUMBER_A_ROW = 4 * phase_memory.LARGE_BATCH  # bytes
LABELLED = int((labels_of(MOST_CLUSTERED)[1] >= 0).sum())
ARRAYS: dict[str, Callable[[], int]] = {
    "start": lambda: start_arrays(MOST_CLUSTERED, LABELLED, CLASSES, DIM, DIM),
    "sorting": lambda: sorting_arrays(IMAGES, CLASSES),
    "report": lambda: report_arrays(IMAGES, CLASSES, DIM),
}

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells mapped files apart")


@pytest.mark.parametrize(
    ("phase", "bound"),
    [
        ("encoding", GIGABYTE),
        ("start", 1.5 * GIGABYTE),
        ("training", GIGABYTE),
        ("sorting", 1.5 * GIGABYTE),
        ("report", 1.5 * GIGABYTE),
    ],
)
def test_no_phase_takes_more_than_is_promised_and_planned(phase: str, bound: float, tmp_path: Path) -> None:
    (before, most), _ = in_own_process(phase_memory.shortly, phase, tmp_path)
    assert before < most < bound
    if phase in ARRAYS:
        planned = before + ARRAYS[phase]()
        assert most < planned < 1.6 * most


@pytest.mark.skipif(not phase_memory.tells_allocated(), reason="glibc 2.33 and later tell what is allocated")
def test_a_step_of_training_leaves_nothing_behind() -> None:
    """But for what its journal notes: less than one number for each row of a batch."""
    held, _ = in_own_process(phase_memory.many_steps, 12)
    assert np.diff(held[5:]).mean() < ONE_NUMBER_A_ROW
