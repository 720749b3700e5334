"""What a run says is doubtful about it: only what is, in few lines, with a command that can be typed."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from legogcd.cli import app
from legogcd.evaluation.calibration import Calibration
from legogcd.run.config import ImagesRecord, RunConfig
from legogcd.run.doubts import Doubt, doubt_lines, find_doubts
from legogcd.run.options import RunOptions


def table_of(**groups: tuple[str, int]) -> pd.DataFrame:
    """Images by category: a status and how many."""
    rows = [
        {"path": f"{name}-{number}.jpg", "category": name.replace("_", "-"), "status": status, "confidence": 0.9}
        for name, parts in groups.items()
        for status, count in [parts]
        for number in range(count)
    ]
    return pd.DataFrame(rows)


def spread(table: pd.DataFrame, same: dict[str, str] | None = None, seed: int = 0) -> np.ndarray:
    """Features [N, D]: each category has a direction of its own, but for those that are ``same``."""
    kinds = [(same or {}).get(name, name) for name in table["category"]]
    places = {name: number for number, name in enumerate(sorted(set(kinds)))}
    noise = np.random.default_rng(seed).normal(0, 0.1, (len(table), 16))
    return np.eye(16)[[places[kind] for kind in kinds]] + noise


def doubts(
    table: pd.DataFrame,
    features: np.ndarray | None = None,
    *,
    run: str = "run",
    known: tuple[str, ...] = ("owl", "hawk"),
    estimated: tuple[int, int] | None = None,
    checked: Calibration | None = None,
    **options: Any,
) -> list[Doubt]:
    config = RunConfig(
        options=RunOptions(n_classes=9, **options),
        method="legogcd+",
        recipe={},
        weights="",
        known=known,
        estimated=estimated,
        images=ImagesRecord(root="photos", count=len(table), labelled=0),
    )
    return find_doubts(Path(run), table, config, features, checked or Calibration())


SOUND = {"owl": ("labelled", 20), "hawk": ("labelled", 12), "new_001": ("novel", 15), "new_002": ("novel", 9)}


def test_nothing_is_said_of_a_run_without_doubts() -> None:
    table = table_of(**SOUND)
    assert doubt_lines(doubts(table, spread(table))) == []


def test_each_doubt_is_one_line_and_the_first_gives_the_command() -> None:
    groups = SOUND | {"finch": ("labelled", 3), "new_003": ("novel", 4), "new_004": ("novel", 30)}
    table = table_of(**groups)
    features = spread(table, {"new-004": "new-001"})
    found = doubts(table, features, run="my runs/run", known=("owl", "hawk", "finch"), estimated=(6, 11))
    lines = doubt_lines(found)
    assert lines == [
        "doubtful: 1 of 3 known classes had fewer than 5 labelled images ('finch'): look at what was put there, and "
        "confirm what is right",
        "doubtful: 'new-001' and 'new-004' look like one kind in two groups",
        "doubtful: the number of categories is an estimate; anything from 6 to 11 fits these images",
        "doubtful: 1 new group of fewer than 5 images ('new-003'): something rare, or no kind of its own",
        "try: legogcd confirm 'my runs/run' finch",
    ]
    assert [doubt.command for doubt in found[1:]] == [
        "legogcd merge 'my runs/run' new-001 new-004",
        "legogcd discover photos --from 'my runs/run' --classes 11 --out 'my runs/run-11'",
        "legogcd discover photos --from 'my runs/run' --classes 6 --out 'my runs/run-6'",
    ]
    verbs = {command.name or command.callback.__name__ for command in app.registered_commands}  # type: ignore[union-attr]
    assert {shlex.split(doubt.command)[1] for doubt in found} <= verbs


def test_one_kind_in_two_known_classes_is_the_users_own_affair() -> None:
    table = table_of(**SOUND)
    assert doubts(table, spread(table, {"owl": "hawk"})) == []


def test_very_large_collections_are_not_searched_for_groups_of_one_kind() -> None:
    table = table_of(**SOUND, new_003=("novel", 2))
    assert len(doubts(table)) == 1


def test_categories_that_are_hard_to_tell_apart_ask_for_more_effort_where_there_is_more() -> None:
    table = table_of(**SOUND)
    hard = Calibration(held_out=40, accuracy=0.6)
    (doubt,) = doubts(table, checked=hard)
    assert [doubt] == doubts(table, checked=hard, backbone="efficientnet-lite0", views=4)  # as a run records it
    assert doubt.sentence.startswith("of 40 labels that training did not see it found 60.0 %")
    assert doubt.command == "legogcd discover photos --from run --effort thorough --out run-thorough"
    for sure in (Calibration(held_out=40, accuracy=0.9), Calibration(held_out=10, accuracy=0.6), Calibration()):
        assert doubts(table, checked=sure) == []
    for options in ({"effort": "thorough"}, {"backbone": "some/vit"}, {"recipe": "cub"}):
        assert doubts(table, checked=hard, **options) == []
