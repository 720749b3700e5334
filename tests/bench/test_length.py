"""The table of the long runs: last epochs and what was forgotten, from rows that are there, without training."""

from pathlib import Path

import pandas as pd
import pytest

from bench.accuracy import length


def rows(method: str, seed: int, old: list[float]) -> pd.DataFrame:
    key = dict(zip(length.KEY, ("birds", 128, "net", "paper", method, seed), strict=True))
    epochs = [
        {**key, "epoch": epoch, "all": share / 2, "old": share, "new": 0.1, "selected": 10.0 * epoch}
        for epoch, share in enumerate(old, start=1)
    ]
    return pd.DataFrame(epochs)


def test_a_row_has_the_last_epoch_and_what_was_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(length, "discover", None)
    made = [rows("simgcd", 0, [0.5, 0.8, 0.6]), rows("simgcd", 1, [0.5, 0.6, 0.8]), rows("legogcd", 0, [0.8, 0.7])]
    pd.concat(made).to_csv(tmp_path / "length.csv", index=False)
    length.main(["--shown", "--csv", str(tmp_path / "length.csv")])
    lines = capsys.readouterr().out.splitlines()
    simgcd, legogcd = (next(line for line in lines if f"| {name} |" in line) for name in ("simgcd", "legogcd"))
    assert "| 2 | 35.0 ± 7.1 | 70.0 ± 14.1 | 10.0 ± 0.0 | 10.0 ± 14.1 | 30.0 ± 0.0 |" in simgcd
    assert "| 1 | 35.0 | 70.0 | 10.0 | 10.0 | 20.0 | 20.0 |" in legogcd


def test_runs_that_have_rows_are_not_made_again(tmp_path: Path) -> None:
    rows("simgcd", 0, [0.5]).to_csv(tmp_path / "length.csv", index=False)
    given = f"--data birds:2:128 --backbone some/net --csv {tmp_path}/length.csv --seeds 0,1 --methods simgcd legogcd"
    options = length.read_options(given.split())
    wanted = [(seed, method) for _, seed, method in length.wanted(options)]
    assert wanted == [(0, "legogcd"), (1, "simgcd"), (1, "legogcd")]


def test_the_curves_are_drawn_from_the_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = [rows("simgcd", seed, [0.5, 0.8, 0.6 + seed / 10]) for seed in (0, 1)]
    made += [rows("legogcd", 0, [0.5, 0.7, 0.72]), rows("legogcd-released", 0, [0.5, 0.7, 0.71])]
    pd.concat(made).to_csv(tmp_path / "length.csv", index=False)
    length.main(["--shown", "--csv", str(tmp_path / "length.csv"), "--figures", str(tmp_path / "figures")])
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    stems = ("paper-old", "paper-selected", "paper-accuracy")
    assert drawn == {f"{stem}.{ending}" for stem in stems for ending in ("png", "svg")}
    old = (tmp_path / "figures" / "paper-old.svg").read_text()
    assert "birds, net" in old
    assert "65.0 → 72.0, 71.0" in old
    beside = (tmp_path / "figures" / "paper-accuracy.svg").read_text()
    assert "simgcd: forgets 15.0 of Old" in beside
    assert "legogcd: forgets 0.0 of Old" in beside
    assert "paper-old.png" in capsys.readouterr().out


def test_a_recipe_is_named_where_a_data_set_has_several(tmp_path: Path) -> None:
    made = rows("simgcd", 0, [0.5, 0.6])
    for frame, names in ((made, ["birds, net"]), (pd.concat([made, made.assign(recipe="cub")]), ["paper", "cub"])):
        length.draw(frame, tmp_path)
        drawn = (tmp_path / "paper-old.svg").read_text()
        assert all(name in drawn for name in names)
        assert ("paper" in drawn) == (len(names) == 2)
