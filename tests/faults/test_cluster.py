"""A process of a training on a local Ray is killed, then its head: the training part of ``bench.faults cluster``."""

from pathlib import Path

from bench.faults.cluster import kill_clusters
from bench.faults.trial import make_trial


def test_a_training_process_or_the_head_killed_leaves_the_bytes_of_an_unkilled_run(tmp_path: Path) -> None:
    found = kill_clusters(make_trial(tmp_path), 1, ["training"])
    assert found.otherwise == []
    assert found.identical == {
        "a worker killed in the middle of training": 1,
        "the head killed in the middle of training": 1,
    }
