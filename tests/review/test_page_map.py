"""The map beside the grid: the same images, the same selection."""

from typing import Any

from browser_pages import Tab
from patience import until


def open_map(tab: Tab) -> dict[str, float]:
    tab.page.keyboard.press("3")
    tab.page.locator(".map-here[data-drawn]").wait_for()
    frame: dict[str, float] = tab.page.locator(".map-here").bounding_box()
    return frame


def draw(page: Any, frame: dict[str, float], corners: list[tuple[float, float]]) -> None:
    """A closed line, by corners as shares of the map's sides."""
    points = [(frame["x"] + x * frame["width"], frame["y"] + y * frame["height"]) for x, y in [*corners, corners[0]]]
    page.mouse.move(*points[0])
    page.mouse.down()
    for x, y in points[1:]:
        page.mouse.move(x, y, steps=6)
    page.mouse.up()


def test_a_lasso_fills_the_grid_and_what_is_selected_there_can_be_moved(tab: Tab) -> None:
    page, frame = tab.page, open_map(tab)
    points = page.evaluate(
        "fetch('/api/map').then((a) => a.arrayBuffer()).then((buffer) => [...new Float32Array(buffer)])"
    )
    places = [((1 + 0.94 * x) / 2, (1 - 0.94 * y) / 2) for x, y in zip(points[::2], points[1::2], strict=True)]
    page.get_by_role("button", name="Lasso").click()
    draw(page, frame, [(0.005, 0.005), (0.5, 0.005), (0.5, 0.995), (0.005, 0.995)])
    page.get_by_role("heading", name="Inside the lasso").wait_for()
    left = {number for number, (x, _) in enumerate(places) if x < 0.49}
    right = {number for number, (x, _) in enumerate(places) if x > 0.51}
    until(lambda: left <= set(tab.shown()) and not set(tab.shown()) & right)
    shown = set(tab.shown())
    page.get_by_role("button", name="All", exact=True).click()
    page.keyboard.press("m")
    page.keyboard.type("left side")
    page.keyboard.press("Enter")
    tab.said("left side")
    assert set(tab.order("left side")) == shown


def point_at(page: Any, x: float, y: float, seen: str) -> None:
    """Hold the pointer to a place until the page shows what is there: a map that is being drawn hears no pointer."""

    def look() -> bool:
        page.mouse.move(x - 3, y - 3)
        page.mouse.move(x, y)
        return bool(page.locator(seen).is_visible())

    until(look)


def test_colors_and_pointing_at_a_mark(tab: Tab) -> None:
    page, frame = tab.page, open_map(tab)
    x, y = page.evaluate(
        "fetch('/api/map').then((a) => a.arrayBuffer()).then((buffer) => [...new Float32Array(buffer)].slice(0, 2))"
    )
    spot = (frame["x"] + (1 + 0.94 * x) / 2 * frame["width"], frame["y"] + (1 - 0.94 * y) / 2 * frame["height"])
    point_at(page, *spot, "#tip img")
    page.mouse.move(frame["x"] + 2, frame["y"] + 2)
    for value, text in (("confidence", "doubtful"), ("round", "confirmed")):
        page.get_by_label("Color of marks").select_option(value)
        page.locator(".map-legend").get_by_text(text).wait_for()
    point_at(page, *spot, "#tip img")
    page.mouse.click(*spot)
    page.locator(".images-box .tile.active").wait_for()


def test_without_webgl_a_sentence_stands_there_and_all_else_works(chromium: Any, address: str) -> None:
    page = chromium.new_context().new_page()
    page.add_init_script(
        "const real = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind) {"
        "  return kind.startsWith('webgl') ? null : real.apply(this, arguments); };"
    )
    tab = Tab(page, address).open()
    page.keyboard.press("3")
    page.get_by_text("This browser cannot draw the map, which needs WebGL.").wait_for()
    page.locator(".images-box .tile").first.click()
    page.get_by_text("1 image selected").wait_for()
    tab.close()
    page.context.close()


MANY = """async (total) => {
  const { createMap } = await import("/web/scatter_map.js");
  const box = document.createElement("div");
  box.className = "map-box";
  [box.style.width, box.style.height] = ["300px", "300px"];
  document.body.append(box);
  const along = (step) => Float32Array.from({ length: total }, (_, at) => 0.9 * Math.sin(step * at));
  const map = createMap({ box, x: along(1), y: along(2.3), label: "many" });
  await map.paint(new Uint8Array(total), ["#777777"]);
  await map.select([5, 7, 29000]);
  const busy = () => {
    const end = performance.now() + 70;
    while (performance.now() < end);
    slow = requestAnimationFrame(busy);
  };
  let slow = requestAnimationFrame(busy);
  window.many = { box, map, rest: () => cancelAnimationFrame(slow) };
}"""


def test_of_very_many_images_a_map_that_jerks_draws_some_while_it_moves_and_all_at_rest(tab: Tab) -> None:
    page = tab.page
    page.evaluate(MANY, 30_000)

    def moves() -> str | None:
        page.evaluate("many.map.panBy(Math.random() < 0.5 ? 1 : -1, 0)")
        found: str | None = page.evaluate("many.box.dataset.points")
        return found

    until(moves, "some")
    page.evaluate("many.rest()")
    until(lambda: page.evaluate("many.box.dataset.points"), "all")
    until(lambda: page.evaluate("many.map.selected()"), [5, 7, 29000])
