"""Several tabs, a server that dies, rounds, imports, and a whole session without a mouse."""

import os
import re
import signal
import subprocess
import sys
from typing import Any

from browser_pages import Tab, log
from patience import until

from legogcd.edits import Name
from legogcd.review.workspace import Location
from legogcd.run.categories import append_edit


def move(tab: Tab, images: list[int], into: str) -> None:
    """An edit of another tab, by the page's own way."""
    tab.page.evaluate(
        "edit => fetch('/api/state').then((a) => a.json()).then(({version}) => fetch('/api/edits', {method: 'POST', "
        "headers: {'Content-Type': 'application/json'}, body: JSON.stringify({version, edit})}))",
        {"edit": "move", "images": images, "into": into},
    )


def test_two_tabs_see_each_other_and_do_not_fight(tab: Tab) -> None:
    other = Tab(tab.page.context.new_page(), tab.address).open()
    group = next(name for name, found in tab.groups().items() if found["status"] == "novel")
    tiles, order = tab.look_at(group), tab.order(group)
    for place in range(3):
        tiles.nth(place).click()
    move(other, order[:1], "blue")
    tab.page.get_by_text("2 images selected").wait_for()  # it came by itself; what is left of the selection stayed
    other.card("blue").get_by_text(f"{other.groups()['blue']['size']} images").wait_for()
    tab.page.route("**/api/state", lambda route: route.abort())  # this tab does not hear of the next one in time
    move(other, order[1:2], "blue")
    tab.page.keyboard.press("m")
    tab.page.keyboard.type("green")
    tab.page.keyboard.press("Enter")
    tab.said("Nothing was done; your selection is kept.")
    tab.page.get_by_text("1 image selected").wait_for()
    until(tab.selected, [order[2]])
    tab.complaints.clear()  # of the requests that the test cut off, and of the refusal
    other.close()


def test_an_edit_from_the_command_line_arrives_by_itself(tab: Tab, location: Location) -> None:
    group = next(name for name, found in tab.groups().items() if found["status"] == "novel")
    append_edit(location.run, Name(group, "from elsewhere"))
    tab.card("from elsewhere").wait_for()


def test_decisions_of_another_tool_are_imported_and_taken_back(tab: Tab, location: Location) -> None:
    page = tab.page
    page.get_by_role("button", name="Import").click()
    file = {"name": "decided.csv", "mimeType": "text/csv", "buffer": b"path,label\nred/00.png,ruby\nred/01.png,ruby\n"}
    page.get_by_label("File to import").set_input_files(file)
    page.get_by_role("button", name="Import").last.click()
    tab.card("ruby").wait_for()
    assert tab.groups()["ruby"]["size"] == 2
    page.keyboard.press("Control+z")
    tab.card("ruby").wait_for(state="detached")


def test_a_whole_session_without_a_mouse(tab: Tab, location: Location) -> None:
    page = tab.page
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("h")  # named ones hidden: what is left is to be named
    names = ["crimson", "lemon"]
    for number, name in enumerate(names):
        page.keyboard.press("n")
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        page.locator(".group-card").nth(len(names) - 1 - number).wait_for(state="detached")
    page.keyboard.press("h")
    tab.card("crimson").wait_for()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.locator(".images-box .tile").first.wait_for()
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowRight")
    page.get_by_text("2 images selected").wait_for()
    page.keyboard.press("m")
    page.keyboard.type("lem")
    page.keyboard.press("Enter")
    tab.said("2 images moved")
    page.locator('.images-box .tile[aria-selected="true"]').first.wait_for(state="detached")
    page.keyboard.press("c")
    tab.said("confirmed ")
    page.keyboard.press("Control+z")
    tab.said("took back")
    page.keyboard.press("4")
    question = page.locator(".question h2")
    question.wait_for()
    page.keyboard.press("k")
    page.keyboard.press("5")
    page.get_by_role("button", name="Train the next round").wait_for()
    assert [line["edit"] for line in log(location)] == ["name", "name", "move", "confirm", "undo"]


def test_questions_are_answered_with_single_keys(tab: Tab, location: Location) -> None:
    page = tab.page
    page.keyboard.press("4")
    page.locator(".question h2").wait_for()
    asked = 0
    while asked < 3 and page.locator(".answers button").count():
        before = page.locator(".question").inner_text()
        keys = [button.get_attribute("aria-keyshortcuts") for button in page.locator(".answers > button").all()]
        if "y" in keys:
            page.keyboard.press("y")
            page.get_by_text(f"{asked + 1} answer").wait_for()
            asked += 1
        elif page.locator(".answers input").count():
            page.keyboard.press("w")
            page.keyboard.type(f"kind {asked}")
            page.keyboard.press("Enter")
            page.get_by_text(f"{asked + 1} answer").wait_for()
            asked += 1
        else:
            page.keyboard.press("k")
        until(lambda before=before: page.locator(".question").inner_text() != before)
    assert asked
    assert len(log(location)) == asked


def test_one_answer_settles_many_images_and_what_is_clicked_out_stays_open(tab: Tab, location: Location) -> None:
    page = tab.page
    page.keyboard.press("4")
    images = page.get_by_role("group", name="Images in question").get_by_role("checkbox")
    images.first.wait_for()
    asked = [int(image.get_attribute("data-id")) for image in images.all()]
    assert len(asked) > 3
    assert page.get_by_role("checkbox", checked=True).count() == len(asked), "all are in until somebody says otherwise"
    page.locator(".answers input").wait_for()  # nobody has said what this group is
    images.nth(0).click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.get_by_role("status").filter(has_text=f"{len(asked) - 2} images in, 2 out").wait_for()
    assert [image.get_attribute("aria-checked") for image in images.all()[:3]] == ["false", "false", "true"]
    page.keyboard.press("w")
    page.keyboard.type("crimson")
    page.keyboard.press("Enter")
    page.get_by_text(f"1 answer so far, {len(asked) - 2} images settled").wait_for()
    until(lambda: images.count() and int(images.first.get_attribute("data-id")) not in asked[2:])
    (line,) = log(location)
    assert [edit["edit"] for edit in line["edits"]] == ["name", "confirm"], "one answer is one edit"
    assert len(line["edits"][1]["images"]["crimson"]) == len(asked) - 2
    confirmed = page.evaluate(
        "ids => fetch('/api/images?ids=' + ids).then((a) => a.json()).then((a) => a.map((one) => one.confirmed))",
        ",".join(map(str, asked)),
    )
    assert confirmed == [False, False] + [True] * (len(asked) - 2)
    page.keyboard.press("Control+z")
    tab.said("took back")
    assert tab.groups().get("crimson") is None


def test_all_clicked_out_is_no_answer_and_a_name_that_is_taken_merges(tab: Tab, location: Location) -> None:
    page = tab.page
    page.keyboard.press("4")
    images = page.get_by_role("checkbox")
    images.first.wait_for()
    count = images.count()
    page.keyboard.press("i")
    until(page.get_by_role("checkbox", checked=False).count, count)
    page.keyboard.press("x")
    tab.said("Every image is clicked out.")
    assert log(location) == []
    page.keyboard.press("i")
    page.keyboard.press("w")
    page.keyboard.type("blue")
    page.keyboard.press("Enter")
    tab.said("merged into 'blue'")
    (line,) = log(location)
    assert [edit["edit"] for edit in line["edits"]] == ["merge", "confirm"]
    assert len(line["edits"][1]["images"]["blue"]) == count


def test_a_round_is_trained_watched_and_opened(tab: Tab) -> None:
    page = tab.page
    group = next(name for name, found in tab.groups().items() if found["status"] == "novel")
    tab.card(group).locator(".name-button").click()
    page.keyboard.type("crimson")
    page.keyboard.press("Enter")
    tab.card("crimson").get_by_role("button", name="Confirm").click()
    tab.said("confirm")
    page.keyboard.press("5")
    page.get_by_label("Epochs").fill("1")
    page.get_by_role("button", name="Train the next round").click()
    page.get_by_role("button", name="Cancel").wait_for()
    page.get_by_role("heading", name="What changed").wait_for(timeout=300_000)
    page.get_by_role("rowheader", name="crimson").first.wait_for()
    page.get_by_role("button", name="Go on with the new round").click()
    tab.card("crimson").wait_for()
    assert tab.groups()["crimson"]["status"] == "known"


def start(location: Location, port: int) -> tuple["subprocess.Popen[str]", str]:
    command = [
        sys.executable,
        "-c",
        "from legogcd.cli import main; main()",
        "review",
        str(location.run),
        "--no-browser",
    ]
    command += ["--images", str(location.images), "--backbone", str(location.backbone), "--cache", str(location.cache)]
    process = subprocess.Popen(
        [*command, "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"http://\S+", line)
        if found:
            return process, found.group()
    raise AssertionError("the server said no address")


def test_a_killed_server_loses_nothing(chromium: Any, location: Location) -> None:
    process, address = start(location, 0)
    page = chromium.new_context().new_page()
    tab = Tab(page, address).open()
    group = next(name for name, found in tab.groups().items() if found["status"] == "novel")
    tab.card(group).locator(".name-button").click()
    page.keyboard.type("crimson")
    page.keyboard.press("Enter")
    tab.said("crimson")
    process.send_signal(signal.SIGKILL)
    process.wait()
    page.get_by_text("The server does not answer.").wait_for()
    port = int(address.partition("/?")[0].rpartition(":")[2])
    again, second = start(location, port)
    try:
        page.get_by_text("The server was started again with another key.").wait_for()
        page.goto(second)
        tab.card("crimson").wait_for()
    finally:
        again.send_signal(signal.SIGKILL)
        again.wait()
        page.context.close()
