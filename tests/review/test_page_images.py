"""Images of a group: select the wrong ones, then say once where they go."""

import json
import re
from typing import Any

from browser_pages import Tab
from patience import until


def test_click_all_that_are_wrong_then_move_them_once(tab: Tab) -> None:
    page = tab.page
    group = max(tab.groups().values(), key=lambda found: found["size"])["id"]
    tiles, order = tab.look_at(group), tab.order(group)
    until(tab.shown, order)
    for place in (0, 2, 3):
        tiles.nth(place).click()
    page.get_by_text("3 images selected").wait_for()
    page.keyboard.press("m")
    page.get_by_role("dialog", name="Move 3 images to").wait_for()
    page.keyboard.type("wrong ones")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for(state="detached")
    tab.said("wrong ones")
    assert sorted(tab.order("wrong ones")) == sorted(order[place] for place in (0, 2, 3))
    until(tab.selected, [])
    page.keyboard.press("Control+z")
    tab.said("took back")
    assert sorted(tab.order(group)) == sorted(order)


def test_shift_takes_a_range_a_drag_paints_and_keys_do_the_same(tab: Tab) -> None:
    page = tab.page
    group = max(tab.groups().values(), key=lambda found: found["size"])["id"]
    tiles, order = tab.look_at(group), tab.order(group)
    tiles.nth(1).click()
    tiles.nth(4).click(modifiers=["Shift"])
    until(tab.selected, order[1:5])
    page.keyboard.press("i")
    until(tab.selected, [order[0], *order[5:]])
    page.keyboard.press("Escape")
    until(tab.selected, [])
    tiles.nth(0).hover()
    page.mouse.down()
    tiles.nth(3).hover()
    page.mouse.up()
    until(tab.selected, order[:4])
    page.keyboard.press("Control+a")
    until(tab.selected, order)
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight")
    until(tab.selected, order[:3])


def test_a_finger_taps_to_select_and_held_still_it_paints(chromium: Any, address: str) -> None:
    context = chromium.new_context(viewport={"width": 600, "height": 800}, has_touch=True, reduced_motion="reduce")
    tab = Tab(context.new_page(), address).open()
    group = max(tab.groups().values(), key=lambda found: found["size"])["id"]
    tiles, order = tab.look_at(group), tab.order(group)
    until(tab.shown, order)
    tiles.nth(5).tap()
    until(tab.selected, [order[5]])
    fingers = context.new_cdp_session(tab.page)

    def touch(kind: str, place: int | None = None) -> None:
        frame = tiles.nth(place).bounding_box() if place is not None else None
        points = [{"x": frame["x"] + 20, "y": frame["y"] + 20}] if frame else []
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 0)
    until(tab.selected, [order[0], order[5]])
    touch("touchMove", 2)
    touch("touchEnd")
    until(tab.selected, [*order[:3], order[5]])
    tab.close()
    context.close()


def test_full_size_goes_to_the_next_and_more_like_these_come_from_all_groups(tab: Tab) -> None:
    page = tab.page
    tiles, order = tab.look_at("blue"), tab.order("blue")
    tiles.nth(1).dblclick()
    viewer = page.locator("#viewer")
    viewer.get_by_text(f"2 of {len(order)}").wait_for()
    page.locator(f'#viewer img[src^="/image/{order[1]}?"]').wait_for()
    page.keyboard.press("ArrowRight")
    page.locator(f'#viewer img[src^="/image/{order[2]}?"]').wait_for()
    page.keyboard.press("Escape")
    viewer.wait_for(state="hidden")
    tiles.nth(0).click()
    page.keyboard.press("l")
    page.get_by_role("heading", name=re.compile("More like")).wait_for()
    until(tiles.count, 32)
    until(tab.selected, [order[0]])
    alike = page.evaluate(f"fetch('/api/similar?ids={order[0]}&count=5').then((a) => a.json())")["ids"]
    until(lambda: tab.shown()[1:6], alike)


def test_images_of_nothing_here_are_set_aside_and_single_ones_confirmed(tab: Tab) -> None:
    page = tab.page
    group = next(name for name, found in tab.groups().items() if found["status"] == "novel")
    tiles, order = tab.look_at(group), tab.order(group)
    tiles.nth(0).click()
    page.keyboard.press("x")
    tab.said("set aside")
    assert tab.order("set aside") == [order[0]]
    until(tab.shown, order[1:])


def test_a_hundred_thousand_images_scroll_with_few_elements(tab: Tab) -> None:
    page, many = tab.page, 100_000

    def order(route: Any) -> None:
        body = {"group": "blue", "version": 0, "ids": list(range(many)), "confidence": [], "flags": [0] * many}
        route.fulfill(body=json.dumps(body), content_type="application/json")

    page.route("**/api/order?*", order)
    page.route(
        "**/thumb/*",
        lambda route: route.fulfill(body="<svg xmlns='http://www.w3.org/2000/svg'/>", content_type="image/svg+xml"),
    )
    page.route("**/api/images?*", lambda route: route.fulfill(body="[]", content_type="application/json"))
    tiles = tab.look_at("blue")
    assert tiles.count() < 400
    page.keyboard.press("End")
    last = page.locator(f'.images-box .tile[data-id="{many - 1}"]')
    last.wait_for()
    assert last.get_attribute("aria-posinset") == str(many)
    assert tiles.count() < 400
    page.keyboard.press("Shift+Home")
    page.get_by_text("100,000 images selected").wait_for()
