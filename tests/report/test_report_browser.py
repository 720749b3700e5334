"""The page in a browser, opened from disk: the map, the filters, thumbnails on demand, and no request to anywhere."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from legogcd.report.page import build_report

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium found (Debian: apt-get install chromium)")


@pytest.fixture(scope="module")
def address(finished: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    out: Path = tmp_path_factory.mktemp("browser") / "report.html"
    build_report(finished.folder, finished.shown(), out)
    return out.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Opened:
    """A page, what it complained about and what it asked for."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a file name ran as code"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def close(self) -> None:
        assert self.complaints == []
        outside = [url for url in self.requests if not url.startswith(("file:", "data:"))]
        assert outside == []
        assert len([url for url in self.requests if url.startswith("file:")]) == 1
        self.context.close()


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Opened]:
    wide = Opened(browser, address, viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    yield wide
    wide.close()


def where(page: Any, row: int) -> tuple[float, float]:
    """Where an image's mark is on the screen."""
    page.locator("#canvas").scroll_into_view_if_needed()
    box = page.locator("#canvas").bounding_box()
    x, y, grid = page.evaluate(
        "row => { const d = JSON.parse(document.all.data.textContent); return [d.x[row], d.y[row], d.grid]; }",
        row,
    )
    return (
        box["x"] + 14 + x / grid * (box["width"] - 28),
        box["y"] + 14 + (1 - y / grid) * (box["height"] - 28),
    )


def test_pointing_at_a_mark_shows_its_picture_and_clicking_it_its_category(opened: Opened) -> None:
    page = opened.page
    assert page.locator("#tip").is_hidden()
    page.mouse.move(*where(page, 70))
    page.locator("#tip img").wait_for()
    assert "new-001" in page.locator("#tip").inner_text()
    assert page.locator("#tip img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    page.mouse.click(*where(page, 70))
    assert page.locator("#count").inner_text() == "30 of 120 images in new-001"
    assert page.locator("#list .tile").count() == 30
    page.mouse.click(*where(page, 70))
    assert page.locator("#count").inner_text() == "120 of 120 images"


def test_the_list_can_be_filtered_and_opened_with_the_keyboard_alone(opened: Opened) -> None:
    page = opened.page
    page.locator("#filter-group").select_option(label="● owl")
    page.locator("#filter-kind").select_option("known")
    assert page.locator("#count").inner_text().endswith("of 120 images in owl")
    page.locator("#filter-text").fill("ONERROR")
    page.locator("#filter-kind").select_option("all")
    assert page.locator("#count").inner_text() == "1 of 120 images in owl"
    page.locator("#clear").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("#viewer").is_visible()
    assert page.locator("#viewer-name").inner_text() == "<img src=x onerror=alert(1)>.png"
    page.keyboard.press("Escape")
    assert page.locator("#viewer").is_hidden()
    page.locator("#clear").press("Enter")
    assert page.locator("#count").inner_text() == "120 of 120 images"


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
    assert page.locator("#count").inner_text() == "29 of 120 images in owl"
    page.locator(".number.new").click()
    assert page.locator("#count").inner_text() == "60 of 120 images"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1440])
def test_nothing_sticks_out_and_text_has_enough_contrast(browser: Any, address: str, width: int, scheme: str) -> None:
    screen = Opened(browser, address, viewport={"width": width, "height": 844}, color_scheme=scheme)
    assert screen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert screen.page.evaluate(_LOW_CONTRAST) == []
    screen.close()


# WCAG 2.2, 1.4.3: relative luminance of an element's text against the nearest background above it, 4.5 to 1.
_LOW_CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const element of document.querySelectorAll("body *:not(script)")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const text = parse(element.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(text), light(behind(element))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) low.push(`${element.tagName}.${element.className} ${element.textContent}`);
  }
  return low;
}"""
