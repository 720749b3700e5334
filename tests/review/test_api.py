"""What the page asks the server for, and what it changes."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from legogcd.edits import Name
from legogcd.run.categories import append_edit, confirmed_labels, current, read_edits
from legogcd.run.discovery import read_predictions


def categories(run: Path) -> list[str]:
    return current(run)["category"].tolist()


def test_the_state_counts_what_predictions_and_edits_say(page, location) -> None:
    table, state = read_predictions(location.run), page.state()
    assert state["images"] == len(table) == 32
    assert {group["id"]: group["size"] for group in state["groups"]} == table["category"].value_counts().to_dict()
    assert state["totals"]["labelled"] == (table["status"] == "labelled").sum()
    assert state["version"] == 0
    assert (state["undo"], state["redo"]) == (None, None)
    assert set(state["ready"]) == {"likeness", "belief", "neighbors", "findings", "map", "votes"}
    for group in state["groups"]:
        members = set(np.flatnonzero(table["category"] == group["id"]).tolist())
        assert set(group["typical"]) <= members
        assert group["named"] == (not group["id"].startswith("new-"))
        rows = table[(table["category"] == group["id"]) & (table["status"] != "labelled")]
        assert group["confidence"] == pytest.approx(rows["confidence"].mean(), abs=1e-3)


def test_every_image_of_a_group_is_in_its_order_once_with_its_flags(page, location) -> None:
    table = read_predictions(location.run)
    page.edit(edit="confirm", images=[31])
    for name in page.groups():
        order = page.get("/api/order", group=name)
        assert order["by"] == "likeness"
        assert sorted(order["ids"]) == np.flatnonzero(table["category"] == name).tolist()
        labelled = [bool(flags & 4) for flags in order["flags"]]
        assert labelled == (table["status"][order["ids"]] == "labelled").tolist()
        assert [row for row, flags in zip(order["ids"], order["flags"], strict=True) if flags & 2] == (
            [31] if 31 in order["ids"] else []
        )


def test_decisions_of_every_kind_are_edits_of_the_run_and_one_step_each(page, location) -> None:
    group = next(name for name, entry in page.groups().items() if entry["status"] == "novel")
    ids = page.ids(group)
    done = page.edit(edit="name", group=group, name="  snowy owl ", confirm=ids[:2])
    assert "'snowy owl'" in done["done"]
    assert done["version"] == 1 == done["state"]["version"]
    page.edit(edit="move", images=[ids[0], 0], into="blue")
    page.edit(edit="move", images=[ids[1]], into=None)
    page.edit(edit="aside", images=[ids[2]])
    page.edit(edit="confirm", groups=["blue"])
    page.edit(edit="merge", into="green", groups=["snowy owl"])
    now = current(location.run).set_index("path")
    paths = read_predictions(location.run)["path"].tolist()
    assert now.loc[paths[ids[0]], "category"] == "blue"
    assert bool(now.loc[paths[ids[0]], "confirmed"])
    assert now.loc[paths[ids[1]], "category"].startswith("new-")
    assert now.loc[paths[ids[2]], "status"] == "rejected"
    assert "snowy owl" not in now["category"].to_numpy()
    assert page.state()["totals"]["aside"] == 1
    states = [categories(location.run)]
    for _ in range(6):
        page.post("/api/undo", {})
        states.append(categories(location.run))
    assert states[-1] == read_predictions(location.run)["category"].tolist()
    assert page.state()["undo"] is None
    for state in reversed(states[:-1]):
        page.post("/api/redo", {})
        assert categories(location.run) == state
    assert page.post("/api/redo", {}, status=422)["error"].startswith("there is no edit to make again")
    assert page.state()["redo"] is None


def test_a_split_by_proposal_makes_the_parts_and_is_taken_back_at_once(page, location) -> None:
    page.edit(edit="merge", into="blue", groups=[name for name in page.groups() if name != "blue"])
    assert [*page.groups()] == ["blue"]
    proposal = page.get("/api/proposals", group="blue", parts=4)
    parts = [part["ids"] for part in proposal["parts"]]
    assert sorted(row for part in parts for row in part) == list(range(32))
    colors = [name.partition("/")[0] for name in read_predictions(location.run)["path"]]
    for part in parts:
        assert len({colors[row] for row in part}) == 1, "noisy squares of four colors are easy to tell apart"
    page.edit(edit="split", group="blue", parts=parts)
    assert sorted(entry["size"] for entry in page.groups().values()) == [8, 8, 8, 8]
    page.post("/api/undo", {})
    assert [*page.groups()] == ["blue"]
    assert page.get("/api/proposals", group="blue")["chosen_parts"] == 4


def test_more_like_these_finds_the_same_color_and_leaves_out_what_was_set_aside(page, location) -> None:
    colors = np.array([name.partition("/")[0] for name in read_predictions(location.run)["path"]])
    red = np.flatnonzero(colors == "red")
    found = page.get("/api/similar", ids=f"{red[0]},{red[1]}", count=6)["ids"]
    assert sorted(found) == sorted(red[2:].tolist())
    page.edit(edit="aside", images=[int(red[5])])
    assert int(red[5]) not in page.get("/api/similar", ids=str(red[0]), count=31)["ids"]
    assert page.get("/api/similar", status=422, ids="")["error"]


def test_what_others_changed_meanwhile_is_a_conflict_and_everything_else_is_not(page, location) -> None:
    groups = [name for name, entry in page.groups().items() if entry["status"] == "novel"]
    ids = page.ids(groups[0])
    append_edit(location.run, Name(groups[0], "from the command line"))
    before = (location.run / "edits.jsonl").read_bytes()
    answer = page.edit(409, 0, edit="name", group=groups[0], name="mine")
    assert answer["state"]["version"] == 1
    assert "from the command line" in [group["id"] for group in answer["state"]["groups"]]
    page.edit(409, 0, edit="move", images=[ids[0]], into="blue")
    page.edit(409, 7, edit="confirm", images=[0])
    assert (location.run / "edits.jsonl").read_bytes() == before
    page.edit(200, 0, edit="name", group=groups[1], name="mine")
    assert page.post("/api/undo", {"version": 1}, status=409)["state"]["version"] == 2
    page.post("/api/undo", {"version": 2})


def test_a_name_that_is_taken_says_whose_it_is(page) -> None:
    group = next(name for name, entry in page.groups().items() if entry["status"] == "novel")
    answer = page.edit(422, edit="name", group=group, name=" blue")
    assert answer["taken"] == "blue"
    assert read_edits(page.session.desk.location.run) == []


@pytest.mark.parametrize(
    "edit",
    [
        {"edit": "move", "images": [32], "into": "blue"},
        {"edit": "move", "images": [-1], "into": "blue"},
        {"edit": "move", "images": ["0"], "into": "blue"},
        {"edit": "move", "images": [], "into": "blue"},
        {"edit": "move", "images": [0], "into": "new-999"},
        {"edit": "move", "images": [0], "into": "set aside"},
        {"edit": "split", "group": "blue", "parts": [[0], [0]]},
        {"edit": "confirm"},
        {"edit": "confirm", "images": [0], "path": "/etc/passwd"},
        {"edit": "name", "group": "blue", "name": "two\nlines"},
        {"edit": "undo"},
        {},
    ],
)
def test_a_wrong_request_is_refused_in_one_line_and_writes_nothing(page, location, edit) -> None:
    answer = page.client.post("/api/edits", json={"version": 0, "edit": edit})
    assert answer.status_code in (409, 422)
    assert "\n" not in answer.json()["error"]
    assert not (location.run / "edits.jsonl").exists()


def test_pictures_come_small_and_whole(page, location) -> None:
    small = page.client.get("/thumb/3")
    assert small.headers["content-type"] == "image/webp"
    assert Image.open(io.BytesIO(small.content)).size == (160, 160)
    whole = page.client.get("/image/3")
    name = read_predictions(location.run)["path"][3]
    assert whole.content == (location.images / name).read_bytes()
    assert whole.headers["content-type"] == "image/png"
    assert page.client.get("/thumb/32").status_code == 422
    assert page.client.get("/image/-1").status_code == 422


def test_a_picture_a_browser_cannot_show_comes_as_jpeg_and_what_is_none_not_at_all(page, location, tmp_path) -> None:
    from legogcd.errors import UnreadableImage
    from legogcd.review.pictures import original

    Image.new("RGB", (5, 4), "red").save(tmp_path / "scan.tif")
    content, kind = original(tmp_path / "scan.tif")
    assert (kind, Image.open(io.BytesIO(content)).format) == ("image/jpeg", "JPEG")
    (tmp_path / "page.jpg").write_text("<script>alert(1)</script>")
    with pytest.raises(UnreadableImage):
        original(tmp_path / "page.jpg")


def test_small_pictures_in_memory_are_bounded(location) -> None:
    from legogcd.review.pictures import SmallPictures
    from legogcd.review.workspace import Workspace

    pictures = SmallPictures(Workspace(location).files, most=5000)
    for row in range(32):
        assert pictures.get(row) == pictures.get(row)
        assert pictures.held <= 5000


def test_the_map_has_a_place_for_every_image_alike_ones_closer(page, location) -> None:
    answer = page.client.get("/api/map")
    points = np.frombuffer(answer.content, "<f4").reshape(-1, 2)
    assert points.shape == (32, 2)
    assert np.abs(points).max() <= 1
    colors = np.array([name.partition("/")[0] for name in read_predictions(location.run)["path"]])
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    same = colors[:, None] == colors[None]
    assert apart[same].mean() < apart[~same].mean()


def test_what_is_confirmed_on_the_page_is_a_label_of_the_next_round(page, location) -> None:
    group = next(name for name, entry in page.groups().items() if entry["status"] == "novel")
    ids = page.ids(group)
    page.edit(edit="name", group=group, name="owl")
    page.edit(edit="confirm", images=ids[:3])
    page.edit(edit="aside", images=ids[3:4])
    labels, paths = confirmed_labels(location.run), read_predictions(location.run)["path"]
    assert {paths[row] for row in ids[:3]} == {path for path, label in labels.items() if label == "owl"}
    assert paths[ids[3]] not in labels


def test_without_features_the_page_works_and_says_what_is_missing(location, tmp_path, another_page) -> None:
    from dataclasses import replace

    page = another_page(replace(location, cache=tmp_path / "empty"))
    assert page.state()["ready"] == []
    order = page.get("/api/order", group="blue")
    assert order["by"] == "confidence"
    assert order["confidence"] == sorted(order["confidence"], reverse=True)
    for path in ("/api/map", "/api/similar?ids=1", "/api/proposals?group=blue", "/api/queue"):
        answer = page.client.get(path)
        assert answer.status_code == 503
        assert "not ready yet" in answer.json()["error"]


def test_a_damaged_piece_is_computed_again_not_used(location, tmp_path) -> None:
    import shutil

    from legogcd.review.insight import Insight
    from legogcd.review.kept import Kept

    kept = Kept(location.run, location.cache)
    shutil.copytree(kept.folder, tmp_path / kept.folder.name)
    copied = Kept(location.run, tmp_path)
    assert Insight(copied, 32).missing() == []
    file = next(copied.folder.glob("likeness-*.npy"))
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert Insight(copied, 32).missing() == ["likeness"]


def test_an_import_through_the_page_is_one_step(page, location) -> None:
    paths = read_predictions(location.run)["path"]
    text = "path,label\n" + "".join(f"{paths[row]},finch\n" for row in (1, 9, 17))
    answer = page.post("/api/import", {"name": "labels.csv", "text": text})
    assert "3 moved" in answer["done"]
    assert page.groups()["finch"]["size"] == 3
    page.post("/api/undo", {})
    assert "finch" not in page.groups()
    assert "expected a CSV" in page.post("/api/import", {"name": "x", "text": "a,b\n"}, status=422)["error"]


def test_one_answer_of_the_queue_is_one_edit_and_what_is_clicked_out_stays_open(page, location) -> None:
    item = next(item for item in page.get("/api/queue")["items"] if item["kind"] == "group")
    assert item["image"] in item["images"]
    chosen, out = item["images"][:-1], item["images"][-1:]
    edit = {"edit": "name", "group": item["group"], "name": "owl", "confirm": chosen}
    page.post("/api/edits", {"version": page.state()["version"], "edit": edit, "out": out})
    assert [image["confirmed"] for image in page.get("/api/images", ids=",".join(map(str, item["images"])))] == [
        *[True] * len(chosen),
        False,
    ]
    asked = [other for other in page.get("/api/queue")["items"] if other["image"] in out]
    assert [other["kind"] for other in asked] == ["out"], "it is asked about, but not with those it does not belong to"
    assert not [other for other in page.get("/api/queue")["items"] if set(other["images"]) & set(chosen)]
    page.post("/api/undo", {})
    assert not any(image["confirmed"] for image in page.get("/api/images", ids=",".join(map(str, chosen))))


def test_images_clicked_out_are_ids_of_the_run(page) -> None:
    ids = page.ids("blue")
    wrong = {"version": 0, "edit": {"edit": "move", "images": ids[:1], "into": "green"}, "out": [99]}
    assert "there is no image 99" in page.post("/api/edits", wrong, status=422)["error"]
    assert page.state()["version"] == 0, "nothing was done"


def test_a_merge_confirms_what_was_looked_at_in_one_step(page, location) -> None:
    group = next(name for name, entry in page.groups().items() if entry["status"] == "novel")
    ids = page.ids(group)
    page.edit(edit="merge", into="blue", groups=[group], confirm=ids[:2])
    labels, paths = confirmed_labels(location.run), read_predictions(location.run)["path"]
    assert {labels.get(paths[row]) for row in ids[:2]} == {"blue"}
    page.post("/api/undo", {})
    assert group in page.groups()
