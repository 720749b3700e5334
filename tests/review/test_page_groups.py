"""Groups as cards: named, merged, split, confirmed and set aside, by mouse and by keys, and all of it taken back."""

import json
from typing import Any

from browser_pages import Tab, log
from patience import until

from legogcd.review.workspace import Location


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


def test_a_suggested_name_says_its_source_and_is_accepted_with_one_key(tab: Tab, location: Location) -> None:
    page, group = tab.page, nameless(tab)[0]

    def suggest(route: Any) -> None:
        state = route.fetch().json()
        for found in state["groups"]:
            if found["id"] == group:
                found["suggestion"] = {"name": "scarlet", "source": "a list of colors", "share": 0.61}
        route.fulfill(body=json.dumps(state), content_type="application/json")

    page.route("**/api/state", suggest)
    page.reload()
    tab.card(group).get_by_text("61 % of a vote, a list of colors").wait_for()
    assert log(location) == []
    tab.card(group).focus()
    page.keyboard.press("a")
    tab.said("scarlet")
    assert log(location)[0]["name"] == "scarlet"
    page.unroute_all(behavior="wait")


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
