"""A process that trains on a local Ray is killed, its head, everything: part of ``python -m bench.faults cluster``."""

from pathlib import Path

from bench.faults.cluster import kill_clusters
from bench.faults.trial import make_trial


def test_a_training_process_the_head_or_everything_killed_leaves_the_bytes_of_an_unkilled_run(tmp_path: Path) -> None:
    found = kill_clusters(make_trial(tmp_path), 1, ["training"])
    assert found.otherwise == []
    assert found.identical == {
        "a worker killed in the middle of training": 1,
        "the head killed in the middle of training": 1,
        "everything killed in the middle of training": 1,
    }
