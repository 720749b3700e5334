"""Groups as cards: named, merged, split, confirmed and set aside, by mouse and by keys, and all of it taken back."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from browser_pages import Tab, log, serving
from patience import until

from legogcd.review.kept import VOTES, Kept
from legogcd.review.workspace import Location
from legogcd.run.categories import current


def nameless(tab: Tab) -> list[str]:
    return [name for name, group in tab.groups().items() if not group["named"] and group["status"] == "novel"]


def test_a_group_is_named_in_place_and_undo_says_what_it_took_back(tab: Tab, location: Location) -> None:
    page, group = tab.page, nameless(tab)[0]
    tab.card(group).locator(".name-button").click()
    page.keyboard.type("crimson")
    page.keyboard.press("Enter")
    tab.card("crimson").wait_for()
    tab.said("crimson")
    assert [(line["edit"], line["name"]) for line in log(location)] == [("name", "crimson")]
    page.keyboard.press("Control+z")
    tab.said("took back")
    tab.card(group).wait_for()
    page.keyboard.press("Control+Shift+z")
    tab.said("made again")
    tab.card("crimson").wait_for()
    page.get_by_role("button", name="Undo", exact=True).first.click()
    tab.card(group).wait_for()
    assert [line["edit"] for line in log(location)] == ["name", "undo", "redo", "undo"]


def test_names_are_offered_and_the_name_of_another_group_merges(tab: Tab) -> None:
    page, group = tab.page, nameless(tab)[0]
    sizes = {name: found["size"] for name, found in tab.groups().items()}
    tab.card(group).locator(".name-button").click()
    page.keyboard.type("gre")
    page.get_by_role("option", name="green").wait_for()
    page.keyboard.press("ArrowDown")
    page.get_by_role("option", name="green", selected=True).wait_for()
    page.keyboard.press("Enter")
    tab.card(group).wait_for(state="detached")
    assert tab.groups()["green"]["size"] == sizes["green"] + sizes[group]


def test_cards_merge_when_one_is_dragged_onto_another(tab: Tab) -> None:
    first, second = nameless(tab)[:2]
    size = sum(tab.groups()[name]["size"] for name in (first, second))
    tab.card(first).locator(".facts").drag_to(tab.card(second).locator(".facts"))
    tab.card(first).wait_for(state="detached")
    assert tab.groups()[second]["size"] == size


def test_marked_cards_merge_by_keys(tab: Tab) -> None:
    page = tab.page
    first, second = nameless(tab)[:2]
    size = sum(tab.groups()[name]["size"] for name in (first, second, "blue"))
    for group in (first, second):
        tab.card(group).focus()
        page.keyboard.press("Space")
    page.keyboard.press("g")
    page.get_by_role("dialog", name="Merge 2 groups into").wait_for()
    page.keyboard.type("blu")
    page.keyboard.press("Enter")
    tab.card(second).wait_for(state="detached")
    assert tab.groups()["blue"]["size"] == size


def test_a_split_is_accepted_with_one_click(tab: Tab) -> None:
    page = tab.page
    group = max(tab.groups().values(), key=lambda found: found["size"])
    tab.card(group["id"]).get_by_role("button", name="Split").click()
    page.locator(".part").nth(1).wait_for()
    parts = page.locator(".part").count()
    page.get_by_role("button", name="Make these groups").click()
    page.locator(".view-count").get_by_text(f"{3 + parts} groups").wait_for()
    after = tab.groups()
    assert sum(found["size"] for found in after.values()) == 32
    assert after[group["id"]]["size"] < group["size"]
    assert parts >= 2
    page.keyboard.press("u")
    tab.said("took back")
    assert tab.groups()[group["id"]]["size"] == group["size"]


def test_a_group_is_confirmed_or_set_aside(tab: Tab) -> None:
    page, group = tab.page, nameless(tab)[0]
    tab.card("blue").get_by_role("button", name="Confirm").click()
    tab.card("blue").get_by_text("confirmed").first.wait_for()
    found = tab.groups()["blue"]
    assert found["confirmed"] + found["labelled"] >= found["size"]
    tab.card(group).focus()
    page.keyboard.press("x")
    tab.card("set aside").wait_for()
    assert tab.groups()["set aside"]["aside"]


def test_cards_are_sorted_and_named_ones_hidden(tab: Tab) -> None:
    page = tab.page
    names = page.locator(".name-button")
    page.get_by_label("Order of groups").select_option("name")
    until(names.all_inner_texts, sorted(tab.groups()))
    page.get_by_label("Order of groups").select_option("size")
    size = {name: found["size"] for name, found in tab.groups().items()}
    until(lambda: [size[name] for name in names.all_inner_texts()], sorted(size.values(), reverse=True))
    page.get_by_label("Hide named groups").check()
    until(lambda: sorted(names.all_inner_texts()), nameless(tab))


def test_suggested_names_say_their_source_and_are_accepted_with_one_key(
    chromium: Any, location: Location, tmp_path: Path
) -> None:
    """Two groups whose images are most often taken for the same: the one with more of the vote gets the name."""
    table = current(location.run)
    sizes = table["category"][table["status"] == "novel"].value_counts()
    first, second = sizes.index[:2]
    kept = Kept(location.run, location.cache)
    shutil.copytree(kept.folder, tmp_path / "cache" / kept.folder.name)
    likely = np.where(table["category"] == first, 0.61, np.where(table["category"] == second, 0.5, 0.0))
    votes = {"classes": np.tile([0, 1], (32, 1)), "weights": np.stack([likely, np.full(32, 0.3)], 1)}
    names = {"vocabulary": ["scarlet", "blush", "blue"], "source": "a list of colors"}
    Kept(location.run, tmp_path / "cache").save(VOTES, votes, names)
    with serving(replace(location, cache=tmp_path / "cache")) as address:
        context = chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        tab = Tab(context.new_page(), address).open()
        tab.card(first).get_by_text("61 % of a vote, a list of colors").wait_for()
        tab.card(second).get_by_role("button", name="Name it blush, as suggested").wait_for()
        assert log(location) == []
        tab.card(first).focus()
        tab.page.keyboard.press("a")
        tab.said("scarlet")
        assert log(location)[0]["name"] == "scarlet"
        tab.card("scarlet").wait_for()
        tab.close()
        context.close()


def test_hostile_names_are_text(tab: Tab) -> None:
    page, group = tab.page, nameless(tab)[0]
    name = "<img src=x onerror=alert(1)>&amp;\"'"  # a name that turns the writing direction is written out, too
    tab.card(group).locator(".name-button").click()
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.locator(".name-button").get_by_text(name, exact=True).wait_for()
    tiles = tab.look_at(name)
    until(tiles.count, tab.groups()[name]["size"])
    tiles.first.click()
    page.keyboard.press("m")
    page.locator(".combo-list").get_by_text(name, exact=True).wait_for()
    page.keyboard.press("Escape")
    page.reload()
    page.get_by_role("heading", name=name, exact=True).wait_for()
    assert page.locator("img[src='x']").count() == 0
