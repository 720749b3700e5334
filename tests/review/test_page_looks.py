"""The page at three widths in light and dark: nothing sticks out, text can be read, a screen reader has names."""

from typing import Any

import pytest
from browser_pages import Tab
from contrast import LOW_CONTRAST
from patience import until

NAMELESS = """() => [...document.querySelectorAll(
    "button, a, input, select, [role=option], [role=listbox], [role=checkbox], [role=group], dialog")]
  .filter((element) => element.checkVisibility())
  .filter((element) => !(element.getAttribute("aria-label") || element.labels?.[0]?.textContent.trim()
    || element.textContent.trim()
    || document.getElementById(element.getAttribute("aria-labelledby") ?? "")?.textContent))
  .map((element) => element.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1024, "dark"), (1920, "light")])
def test_every_view_fits_can_be_read_and_is_named(chromium: Any, address: str, width: int, scheme: str) -> None:
    context = chromium.new_context(
        viewport={"width": width, "height": 844}, color_scheme=scheme, reduced_motion="reduce"
    )
    tab = Tab(context.new_page(), address).open()
    page = tab.page
    for key, there in [
        ("1", ".group-card"),
        ("2", ".images-box .tile"),
        ("4", ".clump [role=checkbox]"),
        ("5", ".round-form"),
    ]:
        page.keyboard.press(key)
        page.locator(there).first.wait_for()
        check(page)
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    check(page)
    tab.close()
    context.close()


def check(page: Any) -> None:
    until(lambda: page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
    until(lambda: page.evaluate(LOW_CONTRAST), [])
    until(lambda: page.evaluate(NAMELESS), [])


def test_a_screen_reader_finds_names_and_states(tab: Tab) -> None:
    page = tab.page
    found = tab.groups()["blue"]
    label = tab.card("blue").get_attribute("aria-label")
    assert label.startswith(f"blue, known class, {found['size']} images, ")
    tiles = tab.look_at("blue")
    tiles.nth(0).click()
    grid = page.get_by_role("listbox", name="Images")
    assert grid.get_attribute("aria-multiselectable") == "true"
    option = page.get_by_role("option", selected=True)
    until(option.count, 1)
    until(lambda: ".png, blue" in option.get_attribute("aria-label"))
    until(lambda: grid.get_attribute("aria-activedescendant"), option.get_attribute("id"))
    page.get_by_role("status").filter(has_text="1 image selected").wait_for()
    assert (
        page.get_by_role("navigation", name="Views").get_by_role("link", name="Images").get_attribute("aria-current")
        == "page"
    )


def test_every_id_of_the_page_is_there_once(tab: Tab) -> None:
    page = tab.page
    page.keyboard.press("4")
    page.locator(".clump [role=checkbox]").first.wait_for()
    page.keyboard.press("f")
    page.get_by_role("dialog").wait_for()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
    assert sorted(ids) == sorted(set(ids))
