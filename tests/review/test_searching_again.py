"""What is suspicious is searched for again when a person rests from editing."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from legogcd.edits import Name
from legogcd.review import preparing
from legogcd.review.insight import Insight, Suspicion
from legogcd.review.kept import FINDINGS, Kept, digest_of_edits
from legogcd.review.prepare import prepare
from legogcd.review.preparing import Preparing
from legogcd.review.snapshot import Snapshot
from legogcd.review.workspace import Location
from legogcd.run.categories import append_edit, current


@pytest.fixture
def own(location: Location, tmp_path: Path) -> Location:
    """A run with a cache of its own, so that what is found in it is not found in other tests' copies."""
    kept = Kept(location.run, location.cache).folder
    shutil.copytree(kept, tmp_path / "cache" / kept.name)
    return replace(location, cache=tmp_path / "cache", backbone="none that could be loaded")


def name_a_group(run: Path) -> str:
    table = current(run)
    group = table["category"][table["status"] == "novel"].value_counts().index[0]
    append_edit(run, Name(group, "ruby"))
    return str(group)


def test_findings_are_searched_for_after_edits_without_a_model(own: Location) -> None:
    kept = Kept(own.run, own.cache)
    group = name_a_group(own.run)
    rows = np.flatnonzero(current(own.run)["category"] == "ruby")[:2].tolist()
    twins = {"kind": "duplicates", "text": f"both in {group}.", "images": rows, "groups": [group]}
    kept.save(FINDINGS, {}, {"found": [twins], "edits": ""})
    seen = Insight(kept, 32)
    seen.refresh()
    said: list[str] = []
    prepare(own, said.append)
    assert said == ["looking for what is suspicious"]
    assert seen.refresh() == [FINDINGS]
    assert seen.searched == digest_of_edits(own.run) == kept.facts(FINDINGS)["edits"]
    again = next(found for found in seen.suspicions if found.kind == "duplicates")
    assert again.text == "These two images look like the same picture, both in ruby."
    assert (again.images, again.groups) == (tuple(rows), ("ruby",))
    prepare(own, said.append)
    assert len(said) == 1, "nothing was edited since"
    assert seen.refresh() == []


def test_it_waits_until_nobody_edits_and_searches_once(own: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Insight(Kept(own.run, own.cache), 32)
    seen.refresh()
    working = Preparing(own, seen, lambda pieces, line: None)
    started: list[int] = []
    monkeypatch.setattr(working, "start", lambda: started.append(1))
    monkeypatch.setattr(preparing, "_QUIET", 0.0)
    for _ in range(3):
        working.keep_up(0)
    assert not started, "nothing was edited"
    name_a_group(own.run)
    working.keep_up(1)
    assert not started, "somebody has just edited"
    for _ in range(3):
        working.keep_up(1)
    assert started == [1]


def test_who_confirms_an_image_that_fits_nowhere_has_looked(tmp_path: Path) -> None:
    (tmp_path / "predictions.csv").write_text("")
    seen = Insight(Kept(tmp_path, tmp_path), 2)
    seen.suspicions = [Suspicion("outliers", "…", (1,), ("owl",))]
    nothing = np.zeros(2, bool)
    now = Snapshot(0, ("owl",), np.array([True]), None, np.zeros(2, np.int32), nothing, nothing, None, None)
    assert len(seen.suspicions_now(now)[0]) == 1
    assert seen.suspicions_now(replace(now, confirmed=np.array([False, True]))) == {}
