"""The page in a browser, opened from disk: the map, the filters, thumbnails on demand, and no request to anywhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contrast import LOW_CONTRAST
from patience import PATIENCE, until

from legogcd.report.page import build_report


@pytest.fixture(scope="module")
def address(finished: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    out: Path = tmp_path_factory.mktemp("browser") / "report.html"
    build_report(finished.folder, finished.shown(), out)
    return out.as_uri()


class Opened:
    """A page, what it complained about and what it asked for."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.originals = 0  # pictures that a test looks at in full size
        self.page.on("console", self.hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a file name ran as code"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def hear(self, message: Any) -> None:
        if "GL Driver Message" not in message.text:  # a graphics driver without a graphics card talks of its speed
            self.complaints.append(message.text)

    def close(self) -> None:
        """The page itself was asked for, the originals that were looked at, and nothing else."""
        until(lambda: len([url for url in self.heard(self.requests) if url.startswith("file:")]), 1 + self.originals)
        assert self.complaints == []
        outside = [url for url in self.requests if not url.startswith(("file:", "data:"))]
        assert outside == []
        self.context.close()

    def heard(self, events: list[str]) -> list[str]:
        """What the browser told so far, with what is on its way."""
        self.page.evaluate("0")
        return events


@pytest.fixture
def opened(chromium: Any, address: str) -> Iterator[Opened]:
    wide = Opened(chromium, address, viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    yield wide
    wide.close()


def where(page: Any, row: int) -> tuple[float, float]:
    """Where an image's mark is on the screen: the map fills its box but for a margin of 3 % on each side."""
    page.locator("#map-box").scroll_into_view_if_needed()
    page.locator("#map-box[data-drawn]").wait_for()
    frame = page.locator("#map-box").bounding_box()
    x, y, grid = page.evaluate(
        "row => { const d = JSON.parse(document.all.data.textContent); return [d.x[row], d.y[row], d.grid]; }",
        row,
    )
    return (
        frame["x"] + (0.03 + 0.94 * x / grid) * frame["width"],
        frame["y"] + (0.97 - 0.94 * y / grid) * frame["height"],
    )


def point_at(page: Any, row: int) -> None:
    """Hold the pointer to an image's mark until its picture shows: a map that is being drawn hears no pointer."""

    def look() -> bool:
        x, y = where(page, row)
        page.mouse.move(x - 3, y - 3)
        page.mouse.move(x, y)
        return bool(page.locator("#tip img").is_visible())

    until(look)


def test_pointing_at_a_mark_shows_its_picture_and_clicking_it_its_category(opened: Opened) -> None:
    page = opened.page
    assert page.locator("#tip").is_hidden()
    point_at(page, 70)
    page.locator("#tip img").wait_for()
    until(lambda: "new-001" in page.locator("#tip").inner_text())
    assert page.locator("#tip img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    page.mouse.click(*where(page, 70))
    until(page.locator("#count").inner_text, "30 of 120 images in new-001")
    until(page.locator("#list .tile").count, 30)
    point_at(page, 70)
    page.mouse.click(*where(page, 70))
    until(page.locator("#count").inner_text, "120 of 120 images")


def test_the_list_can_be_filtered_and_opened_with_the_keyboard_alone(opened: Opened) -> None:
    page = opened.page
    page.locator("#filter-group").select_option(label="● owl")
    page.locator("#filter-kind").select_option("known")
    until(lambda: page.locator("#count").inner_text().endswith("of 120 images in owl"))
    page.locator("#filter-text").fill("ONERROR")
    page.locator("#filter-kind").select_option("all")
    until(page.locator("#count").inner_text, "1 of 120 images in owl")
    page.locator("#clear").focus()
    for _ in range(12):  # the map and its buttons, what can be done with a selection, then the list
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role') === 'listbox'"):
            break
    page.keyboard.press("Enter")
    page.locator("#viewer").wait_for()
    opened.originals = 1
    until(page.locator("#viewer-name").inner_text, "<img src=x onerror=alert(1)>.png")
    page.keyboard.press("Escape")
    page.locator("#viewer").wait_for(state="hidden")
    page.locator("#clear").press("Enter")
    until(page.locator("#count").inner_text, "120 of 120 images")


def test_full_size_shows_the_original_and_says_so_where_it_is_gone(opened: Opened, finished: Any) -> None:
    page, pictures = opened.page, finished.folder.parent / "pictures"
    page.locator("#duplicates .tile").nth(1).click()  # made larger than all others when the run was
    original = page.locator('#viewer img[src^="file:"]')
    original.wait_for()
    assert original.evaluate("image => image.decode().then(() => image.naturalWidth)") == 90
    until(page.locator("#viewer-name").inner_text, finished.images.names[8])
    page.keyboard.press("ArrowLeft")
    page.get_by_text("1 of 2").wait_for()
    page.keyboard.press("Escape")
    gone = pictures / finished.images.names[10]
    kept = gone.read_bytes()
    gone.unlink()
    try:
        page.locator("#wrong-labels .tile").first.click()
        page.get_by_text("The original cannot be reached from here; this is its thumbnail.").wait_for()
        until(page.locator('#viewer img[src^="data:"]').count, 1)
    finally:
        gone.write_bytes(kept)
    until(lambda: len(opened.heard(opened.complaints)), 1)
    assert opened.complaints.pop().startswith("Failed to load resource: net::ERR_FILE_NOT_FOUND")
    opened.originals = 3


def test_findings_show_pictures_with_their_names(opened: Opened, finished: Any) -> None:
    captions = opened.page.locator("#duplicates figcaption").all_inner_texts
    until(captions, [finished.images.names[row] for row in finished.duplicates])
    until(opened.page.locator("#wrong-labels figcaption").first.inner_text, finished.images.names[10])


def test_paths_of_a_selection_can_be_copied(opened: Opened, finished: Any) -> None:
    page = opened.page
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.locator("#order").select_option("name")
    tiles = page.locator("#list .tile")
    tiles.nth(4).click()
    tiles.nth(7).click(modifiers=["Shift"])
    page.get_by_role("button", name="Copy paths").click()
    page.get_by_text("4 paths copied").wait_for()
    ordered = sorted(finished.images.names)[4:8]
    pictures = (finished.folder.parent / "pictures").resolve()
    assert page.evaluate("window.copied") == "\n".join(f"{pictures}/{name}" for name in ordered)


def test_the_map_zooms_and_a_lasso_lists_what_lies_inside(opened: Opened) -> None:
    page = opened.page
    where(page, 70)
    frame = page.locator("#map-box").bounding_box()
    corners = [(0.01, 0.01), (0.99, 0.01), (0.99, 0.99), (0.01, 0.99), (0.01, 0.02)]
    page.get_by_role("button", name="Lasso").click()
    page.mouse.move(frame["x"] + 0.01 * frame["width"], frame["y"] + 0.01 * frame["height"])
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(frame["x"] + x * frame["width"], frame["y"] + y * frame["height"], steps=8)
    page.mouse.up()
    page.get_by_text("120 of 120 images inside the lasso").wait_for()
    page.get_by_role("button", name="Leave the lasso").click()
    page.get_by_role("button", name="Move", exact=True).click()
    point_at(page, 70)
    page.locator(".map-canvas").focus()
    page.mouse.wheel(0, -400)
    page.locator("#tip").wait_for(state="hidden")
    until(lambda: float(page.locator("#map-box").get_attribute("data-zoom")) > 1.5)


def test_thumbnails_are_decoded_only_when_they_come_into_sight(opened: Opened) -> None:
    page = opened.page
    last = page.locator("#known .group > .tiles .tile").last
    assert last.locator("img").count() == 0
    last.scroll_into_view_if_needed()
    last.locator("img").wait_for()
    assert last.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 0


def test_a_finding_leads_to_its_category_and_a_number_to_its_images(opened: Opened) -> None:
    page = opened.page
    page.locator("#duplicates [data-group]").first.click()
    until(page.locator("#count").inner_text, "29 of 120 images in owl")
    page.locator(".number.new").click()
    until(page.locator("#count").inner_text, "60 of 120 images")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1440])
def test_nothing_sticks_out_and_text_has_enough_contrast(chromium: Any, address: str, width: int, scheme: str) -> None:
    screen = Opened(chromium, address, viewport={"width": width, "height": 844}, color_scheme=scheme)
    until(lambda: screen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
    until(lambda: screen.page.evaluate(LOW_CONTRAST), [])
    screen.close()
