"""The next round from the page: a real process, progress, cancel, what changed, and going on with it."""

import time
from pathlib import Path
from typing import Any

from legogcd.review.rounds import changes, next_folder
from legogcd.run.categories import current, read_edits


def wait(page: Any, *states: str, seconds: float = 300) -> dict[str, Any]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found: dict[str, Any] = page.get("/api/round")
        if found["state"] in states:
            return found
        time.sleep(0.1)
    raise AssertionError(f"still {found}")


def test_a_round_trains_from_the_decisions_and_keeps_the_names(page, location, another_page) -> None:
    groups = [name for name, entry in page.groups().items() if entry["status"] == "novel"]
    page.edit(edit="name", group=groups[0], name="first name", confirm=page.ids(groups[0])[:2])
    page.edit(edit="name", group=groups[1], name="second name")
    page.edit(edit="aside", images=[page.ids("second name")[0]])
    assert page.post("/api/open_round", {}, status=422)["error"]
    started = page.post("/api/round", {"epochs": 2})
    assert (started["state"], started["epochs"]) == ("running", 2)
    assert "already" in page.post("/api/round", {}, status=422)["error"]
    restarted = another_page(location)
    assert restarted.get("/api/round")["state"] == "running", "a server that is started again finds it"
    done = wait(page, "done", "failed")
    assert done["state"] == "done", done["line"]
    assert wait(restarted, "done")["folder"] == another_page(location).get("/api/round")["folder"] == done["folder"]
    folder = Path(done["folder"])
    assert folder == location.run.with_name("run-2")
    assert done["epoch"] == 2
    assert done["unmatched"] == []
    table = current(folder)
    assert len(table) == 31
    assert {"first name", "second name"} <= set(table["category"])
    for change in done["changes"]:
        assert change["kept"] + change["came"] == change["after"]
        assert change["kept"] + change["left"] == change["before"]
        assert change["text"].startswith(change["group"])
    page.post("/api/open_round", {})
    state = page.state()
    assert state["images"] == 31
    assert state["round"]["state"] == "none"
    assert "names from run" in state["undo"]
    assert [edit.edit for edit in read_edits(folder)] == ["several"]


def test_a_round_can_be_cancelled_and_leaves_nothing(page, location) -> None:
    page.post("/api/round", {"epochs": 5000})
    wait(page, "running")
    page.post("/api/round/cancel", {})
    ended = wait(page, "cancelled", "done", "failed")
    assert ended["state"] == "cancelled"
    assert not location.run.with_name("run-2").exists()
    assert page.post("/api/round/cancel", {}, status=422)["error"] == "no round is running"


def test_a_confirmed_group_without_a_name_is_said_before_anything_starts(page) -> None:
    group = next(name for name, entry in page.groups().items() if entry["status"] == "novel")
    page.edit(edit="confirm", groups=[group])
    assert "give it one first" in page.post("/api/round", {}, status=422)["error"]
    assert page.get("/api/round")["state"] == "none"


def test_rounds_are_counted_in_their_folders_names(tmp_path: Path) -> None:
    assert next_folder(tmp_path / "birds").name == "birds-2"
    (tmp_path / "birds-2").mkdir()
    assert next_folder(tmp_path / "birds").name == "birds-3"
    assert next_folder(tmp_path / "birds-2").name == "birds-3"
    assert next_folder(tmp_path / "2024-11").name == "2024-12"


def test_the_same_run_has_not_changed(location) -> None:
    listed, unmatched = changes(location.run, location.run)
    assert all(change["came"] == change["left"] == 0 for change in listed)
    assert all("has the same" in change["text"] for change in listed)
    assert unmatched == []
