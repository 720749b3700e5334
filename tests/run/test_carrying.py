"""Names that were given but not confirmed, and what was set aside, go on to the next round."""

from itertools import permutations
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legogcd.csv_text import read_rows
from legogcd.edits import Aside, Confirm, Name, Redo, Undo
from legogcd.edits.state import State
from legogcd.estimator import LegoGCD
from legogcd.run.carrying import carry_names, match_names
from legogcd.run.categories import append_edit, current, read_edits, read_state
from legogcd.run.discovery import COLUMNS, read_predictions


def state_of(groups: list[int], labelled: bool = False) -> State:
    """Images 0, 1, 2, … in groups by number from 1; of number 0, in the known class owl."""
    names = [f"new-{group:03d}" if group else "owl" for group in groups]
    status = ["novel" if group else "known" for group in groups]
    rows = [(f"{row}.jpg", name, kind, 0.5, name) for row, (name, kind) in enumerate(zip(names, status, strict=True))]
    return State(pd.DataFrame(rows, columns=list(COLUMNS)))


def named(state: State) -> State:
    for name in [name for name in state.categories if name.startswith("new-")]:
        state.apply(state.resolve(Name(name, f"kind {name[-1]}")))
    return state


@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
@settings(max_examples=200, deadline=None)
def test_groups_are_matched_so_that_they_share_the_most_images(pairs) -> None:
    before, after = state_of([old for old, _ in pairs]), state_of([new for _, new in pairs])
    named(before)
    old = [name for name in before.categories if name != "owl" or "owl" not in after.categories]
    new = [name for name in after.categories if name != "owl"]
    shared = {(a, b): len({*before.images(a)} & {*after.images(b)}) for a in old for b in new}
    longer = [*new, *[""] * len(old)]
    best = max(
        sum(shared.get(pair, 0) for pair in zip(old, order, strict=False)) for order in permutations(longer, len(old))
    )
    found = match_names(before, after)
    matches = {match.name: match.group for match in found.matches}
    assert len(set(matches.values())) == len(matches)
    for match in found.matches:
        assert match.shared == shared[match.name, match.group]
        assert 2 * match.shared > 0.5 * (before.size(match.name) + after.size(match.group))
    loose = sum(match.shared for match in found.matches)
    assert loose <= best
    for name in old:  # a group whose images are all in one new group of nothing else is found again
        twin = [group for group in new if {*before.images(name)} == {*after.images(group)}]
        assert not twin or matches[name] == twin[0]
        assert (name in matches) != any(f"'{name}'" in line for line in found.unmatched)


def test_what_is_not_found_again_is_said_with_where_its_images_went() -> None:
    before, after = named(state_of([1] * 6 + [2] * 4)), state_of([0, 0, 0, 1, 2, 3] + [1] * 4)
    found = match_names(before, after)
    assert [(match.name, match.group, match.shared) for match in found.matches] == [("kind 2", "new-001", 4)]
    assert found.unmatched == (
        "the name 'kind 1' was not confirmed, and no group is like it now: its images are 3 in 'owl', 1 in 'new-001', "
        "1 in 'new-002'".replace("'new-001'", "new-001").replace("'new-002'", "new-002"),
    )


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory, tiny_vit: Path) -> dict[str, Path]:
    """A run in which groups were named and images set aside, the next round, and the one after it."""
    from example_pictures import write_pictures

    from legogcd.run import RunOptions, discover
    from legogcd.run.job import Job
    from legogcd.run.opening import open_job
    from legogcd.run.options import LabelOptions

    root = tmp_path_factory.mktemp("rounds")
    pictures = write_pictures(root / "pictures")
    options = RunOptions(backbone=str(tiny_vit), image_size=32, views=2, epochs=2, cache=root / "cache", threads=1)
    labels = LabelOptions(labels="folders", known="blue,green")

    def run(name: str, **source: Path) -> Path:
        job, _ = open_job(pictures, labels if not source else LabelOptions(), options, lambda note: None, **source)
        assert isinstance(job, Job)
        discover(job, root / name)
        return root / name

    first = run("first")
    red, yellow = (
        read_predictions(first).set_index("path")["category"][f"{name}/00.png"] for name in ("red", "yellow")
    )
    append_edit(first, Name(red, "rose"))
    append_edit(first, Name(yellow, "sun"))
    append_edit(first, Aside({"rose": ("red/03.png",), "blue": ("blue/00.png",)}))
    second = run("second", from_run=first)
    carried = carry_names(first, second)
    assert len(carried.matches) == 2, carried
    append_edit(second, Confirm({"sun": ("yellow/01.png",)}))
    third = run("third", from_run=second)
    carry_names(second, third)
    return {"pictures": pictures, "first": first, "second": second, "third": third, "cache": root / "cache"}


def test_names_find_their_groups_in_the_next_round_as_an_edit_that_can_be_taken_back(rounds) -> None:
    second = rounds["second"]
    table = current(second).set_index("path")
    assert table.loc["red/00.png", "category"] == "rose"
    assert table.loc["yellow/00.png", "category"] == "sun"
    assert "names from first" in str(read_edits(second)[0])
    before = read_edits(second)
    assert carry_names(rounds["first"], second).matches == (), "once is enough"
    assert read_edits(second) == before


def test_what_was_set_aside_stays_out_of_all_later_rounds_and_is_listed(rounds) -> None:
    for name in ("second", "third"):
        paths = read_predictions(rounds[name])["path"].tolist()
        assert len(paths) == 30
        assert not {"red/03.png", "blue/00.png"} & {*paths}
        skipped = {row.cells[0]: row.cells[1] for row in read_rows(rounds[name] / "skipped.csv", ("path", "reason"))}
        assert skipped == dict.fromkeys(["blue/00.png", "red/03.png"], "set aside in an earlier round")
    third = current(rounds["third"]).set_index("path")
    assert third.loc["yellow/01.png", "status"] == "labelled"
    assert third.loc["red/00.png", "category"] == "rose"


def test_kept_views_serve_a_round_that_left_images_out(rounds, tiny_vit) -> None:
    """The features of the next round come from the same kept views, each from its own image's."""
    import numpy as np

    from legogcd.run.model import load_run
    from legogcd.run.run_features import run_features
    from legogcd.run.trust import FilesBelow

    model, config = load_run(rounds["second"], str(tiny_vit))
    files = FilesBelow(rounds["pictures"], tuple(read_predictions(rounds["second"])["path"]))
    folders = sorted(path.name for path in rounds["cache"].glob("views-*"))
    assert folders == [config.kept_in], "nothing was encoded again"
    kept = run_features(model, config, files, rounds["cache"]).features
    encoded = model.transform(files)
    np.testing.assert_allclose(kept, encoded, rtol=0.02, atol=0.02)
    assert np.abs(kept - np.roll(encoded, 1, axis=0)).max() > 0.05


def test_python_and_the_command_line_say_the_same_of_other_images_after_every_kind_of_edit(
    rounds, run_cli, tiny_vit, tmp_path
) -> None:
    run = rounds["third"]
    before = len(read_edits(run))
    try:
        append_edit(run, read_state(run).setting_aside(["rose"], []))
        out = tmp_path / "out.csv"
        assert run_cli("predict", run, rounds["pictures"], "--backbone", tiny_vit, "--out", out).exit_code == 0
        table = pd.read_csv(out).set_index("path")
        said = LegoGCD.load(run, backbone=str(tiny_vit)).predict([rounds["pictures"] / name for name in table.index])
        assert said.tolist() == table["category"].tolist()
        assert set(table.loc[table["category"] == "set aside", "status"]) == {"rejected"}
        assert "set aside" in set(table["category"])
    finally:
        append_edit(run, Undo())
    append_edit(run, Redo())
    append_edit(run, Undo())
    assert len(read_edits(run)) == before + 4
