"""What runs took for known: counted from their tables."""

from pathlib import Path

import pytest
from run_configs import run_config

from bench.accuracy import taken_for_known
from legogcd.run.config import write_config

ROWS = {  # path: status, predicted
    "cat/1.jpg": ("labelled", "cat"),
    "cat/2.jpg": ("known", "cat"),
    "cat/3.jpg": ("known", "dog"),
    "owl/5.jpg": ("known", "cat"),
    "owl/6.jpg": ("novel", "new-001"),
}


def a_run(folder: Path, predicted_of_dog: str) -> Path:
    folder.mkdir(parents=True)
    write_config(folder, run_config(known=("cat", "dog"), n_classes=3, method="simgcd"))
    rows = ROWS | {"dog/4.jpg": ("known" if predicted_of_dog == "dog" else "novel", predicted_of_dog)}
    lines = [f"{path},{predicted},{status},0.5,{predicted}" for path, (status, predicted) in rows.items()]
    (folder / "predictions.csv").write_text("\n".join(["path,category,status,confidence,predicted", *lines]))
    return folder


def test_what_is_taken_for_known_is_counted_and_averaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [a_run(tmp_path / "zoo" / "simgcd-0", "new-001"), a_run(tmp_path / "zoo" / "simgcd-1", "dog")]
    assert taken_for_known.taken_for_known(runs[0]) == (3, 3, 2, 1)
    assert taken_for_known.taken_for_known(runs[1]) == (3, 4, 3, 2)
    taken_for_known.main([str(run) for run in runs])
    assert "| zoo | simgcd | 2 | 3 | 4 | 2 (71 %) | 2 (43 %) |" in capsys.readouterr().out
