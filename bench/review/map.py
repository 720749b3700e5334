"""Frames per second of a moving map: ``python -m bench.review.map [--points N] [--turns N]``.

The page's map against the library as it comes (which draws into a canvas as large as the window, always with every
pixel), the same points in a box half as wide as a window of 1920 × 1080, in turns in one browser.
"""

import argparse
import functools
import http.server
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from typing import Any

from bench.review.browser import browser_page
from bench.review.scale import FRAMES

SECONDS = 4
PAGE = """<!doctype html><link rel="stylesheet" href="/base.css">
<div id="box" class="map-box" style="width: 50vw; height: 80vh"></div>
<script type="module">
const total = %d, random = () => 0.08 * (Math.random() - 0.5);
const kinds = Array.from({ length: 40 }, (_, kind) => [kind, 0.24 + 0.08 * (kind %% 7)]);
const points = { x: new Float32Array(total), y: new Float32Array(total), z: new Array(total) };
for (let at = 0; at < total; at++) {
  const [kind, away] = kinds[at %% 40];
  [points.x[at], points.y[at]] = [away * Math.cos(kind) + random(), away * Math.sin(kind) + random()];
  points.z[at] = kind;
}
const colors = kinds.map(([kind]) => `#${(0x1000000 + 0x5a3b1 * (kind + 3)).toString(16).slice(1)}`);
const box = document.getElementById("box");
if (location.search === "?ours") {
  const { createMap } = await import("/scatter_map.js");
  await createMap({ box, ...points, label: "a map" }).paint(points.z, colors);
} else {
  const { default: createScatterplot } = await import("/vendor/regl_scatterplot.js");
  const canvas = document.createElement("canvas");
  canvas.className = "map-canvas";
  box.append(canvas);
  const plot = createScatterplot({
    canvas, width: box.clientWidth, height: box.clientHeight, aspectRatio: box.clientWidth / box.clientHeight,
    pointSize: 2, opacity: 0.75, colorBy: "valueA", pointColor: colors, spatialIndexUseWorker: false,
    performanceMode: total > 40000,
  });
  await plot.draw(points, { zDataType: "categorical" });
}
box.dataset.drawn = "1";
</script>"""


@contextmanager
def served(total: int) -> Iterator[str]:
    """The address of a page with a map of so many points."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith("/?"):
                return super().do_GET()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write((PAGE % total).encode())
            return None

        def log_message(self, *_: Any) -> None:
            pass

    with as_file(files("legogcd") / "web") as folder:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def frames(page: Any, address: str) -> float:
    """Frames per second while the map is dragged."""
    page.goto(address)
    page.locator("#box[data-drawn]").wait_for()
    frame = page.locator("#box").bounding_box()
    x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    running = page.evaluate_handle(f"({{ done: ({FRAMES})({SECONDS}) }})")
    until, turn = time.perf_counter() + SECONDS, 0
    while time.perf_counter() < until:
        turn += 1
        page.mouse.move(x + 8 * (turn % 5), y + turn % 40)
    rate, _ = running.evaluate("async ({ done }) => done")
    page.mouse.up()
    return float(rate)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    found: dict[str, list[float]] = {"plain": [], "ours": []}
    with served(given.points) as address, browser_page() as page:
        for _ in range(given.turns):
            for kind, measured in found.items():
                measured.append(frames(page, f"{address}?{kind}"))
                print(f"{kind}: {measured[-1]:.1f} frames/s", flush=True)
    ratio = statistics.median(ours / plain for plain, ours in zip(*found.values(), strict=True))
    plain, ours = (statistics.median(measured) for measured in found.values())
    rates = f"{plain:.1f} frames/s by the library alone, {ours:.1f} here"
    print(f"{given.points:,} points: {rates}, {ratio:.1f} times as many")


if __name__ == "__main__":
    main()
