"""When a loss is called flat, and what is told of a run then."""

import json
from pathlib import Path

import pytest

from bench.accuracy import when_flat


def test_a_flat_loss_is_found_after_two_windows_and_never_in_a_falling_one() -> None:
    falling = [0.9**epoch for epoch in range(40)]
    assert when_flat.flat_at(falling, window=5) is None
    assert when_flat.flat_at([*falling[:10], *[falling[9]] * 10], window=5) == 19
    assert when_flat.flat_at([1.0] * 9, window=5) is None


def test_a_run_is_told_where_it_became_flat_and_at_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "zoo" / "simgcd-0"
    run.mkdir(parents=True)
    losses = [4.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    entries = [
        {"epoch": number, "loss": loss, "all": number / 10, "old": 0.5, "new": 0.25}
        for number, loss in enumerate(losses, start=1)
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    when_flat.main([str(run), "--window", "2"])
    assert "| zoo, simgcd-0 | 6 of 7 | 60.0 / 50.0 / 25.0 | 70.0 / 50.0 / 25.0 |" in capsys.readouterr().out
