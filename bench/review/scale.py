"""The review page with 100,000 images: ``python -m bench.review.scale RUN --images DIR --cache DIR [--count N]``.

A finished run is copied until it has so many images (links to its pictures under other names, its features with a
little noise), a server is started on it, and a real browser opens it. Printed: seconds from the address to the first
paint and to the first card with a picture, frames per second while the grid is scrolled and the map is moved, answers
per second, and memory of the server and of the page.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from bench.review.browser import browser_page, server
from legogcd.review.kept import MAP, PIECES, Kept
from legogcd.run.discovery import read_predictions

FRAMES = """(seconds) => new Promise((resolve) => {
  const times = [];
  const step = (time) => {
    times.push(time);
    if (time - times[0] < 1000 * seconds) requestAnimationFrame(step);
    else {
      const gaps = times.slice(1).map((later, at) => later - times[at]);
      resolve([1000 * gaps.length / (times.at(-1) - times[0]), Math.max(...gaps)]);
    }
  };
  requestAnimationFrame(step);
})"""


def enlarge(run: Path, images: Path, cache: Path, count: int, folder: Path) -> tuple[Path, Path, Path]:
    """A run of ``count`` images, its pictures and a cache with all that is computed of them."""
    table = read_predictions(run)
    n = len(table)
    large, pictures, kept = folder / "run", folder / "pictures", folder / "cache"
    large.mkdir()
    for name in ("config.json", "calibration.json", "metrics.jsonl"):
        shutil.copy(run / name, large / name)
    base = folder / "base"
    for path in table["path"]:
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(images / path, base / path)
    rows = np.arange(count) % n
    names = [f"{number // n:03d}/{table['path'].iloc[row]}" for number, row in enumerate(rows)]
    for name, row in zip(names, rows, strict=True):
        (pictures / name).parent.mkdir(parents=True, exist_ok=True)
        os.link(base / table["path"].iloc[row], pictures / name)
    bigger = table.iloc[rows].copy()
    bigger["path"] = names
    bigger.to_csv(large / "predictions.csv", index=False)
    _enlarge_pieces(Kept(run, cache), Kept(large, kept), n, rows)
    return large, pictures, kept


def _enlarge_pieces(source: Kept, target: Kept, n: int, rows: np.ndarray) -> None:
    random = np.random.default_rng(0)
    for piece in PIECES:
        found = source.load(piece)
        if found is None:
            raise SystemExit(f"{piece!r} of the run is not computed yet: open it once with legogcd review")
        arrays, facts = found
        wide = {name: array[rows] if array.ndim and len(array) == n else array for name, array in arrays.items()}
        if piece == MAP:
            wide = {name: _shaken(array, random) for name, array in wide.items()}
        target.save(piece, wide, facts)


def _shaken(points: np.ndarray, random: np.random.Generator) -> np.ndarray:
    shaken = points + random.normal(0, 0.01 * float(np.ptp(points)), points.shape)
    return np.clip(shaken, points.min(), points.max()).astype(points.dtype)


def measure(address: str, process: psutil.Process) -> list[tuple[str, str]]:
    """All figures, as name and value."""
    found: list[tuple[str, str]] = []
    with browser_page() as page:
        start = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.locator(".group-card").first.wait_for()
        cards = time.perf_counter() - start
        painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000
        found.append(("first paint after the address", f"{painted:.2f} s"))
        found.append(("first cards", f"{cards:.2f} s"))
        found += _scrolling(page)
        found += _map(page)
        found += _answers(page)
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
    found.append(("memory of the page's script", f"{heap:.0f} MB"))
    found.append(("memory of the server", f"{process.memory_info().rss / 1e6:.0f} MB"))
    return found


def _scrolling(page: Any) -> list[tuple[str, str]]:
    largest = page.evaluate(
        "fetch('/api/state').then((a) => a.json()).then((s) => Math.max(...s.groups.map((g) => g.size)))"
    )
    start = time.perf_counter()
    page.keyboard.press("Enter")
    page.locator(".images-box .tile img").first.wait_for()
    opened = time.perf_counter() - start
    page.mouse.move(700, 500)
    running = page.evaluate_handle(f"({{ done: ({FRAMES})(4) }})")
    until = time.perf_counter() + 4
    while time.perf_counter() < until:
        page.mouse.wheel(0, 240)
    rate, longest = running.evaluate("async ({ done }) => done")
    return [
        (f"opening a group of {largest:,} images", f"{opened:.2f} s"),
        ("scrolling the grid", f"{rate:.0f} frames/s, longest {longest:.0f} ms"),
    ]


def _map(page: Any) -> list[tuple[str, str]]:
    start = time.perf_counter()
    page.keyboard.press("3")
    page.locator(".map-here[data-drawn]").wait_for()
    opened = time.perf_counter() - start
    box = page.locator(".map-here").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    running = page.evaluate_handle(f"({{ done: ({FRAMES})(4) }})")
    until, turn = time.perf_counter() + 4, 0
    while time.perf_counter() < until:
        turn += 1
        page.mouse.move(
            box["x"] + box["width"] * (0.5 + 0.2 * (turn % 5) / 5), box["y"] + box["height"] / 2 + turn % 40
        )
    rate, longest = running.evaluate("async ({ done }) => done")
    page.mouse.up()
    renderer = page.evaluate(
        "(() => { const gl = document.createElement('canvas').getContext('webgl');"
        " return gl.getParameter(gl.getExtension('WEBGL_debug_renderer_info').UNMASKED_RENDERER_WEBGL); })()"
    )
    return [
        ("opening the map", f"{opened:.2f} s"),
        ("moving the map", f"{rate:.0f} frames/s, longest {longest:.0f} ms ({renderer})"),
    ]


def _answers(page: Any) -> list[tuple[str, str]]:
    ask = """async ([path, count]) => {
      const start = performance.now();
      const one = (number) => fetch(path + number, { cache: "no-store" }).then((answer) => answer.arrayBuffer());
      await Promise.all(Array.from({ length: count }, (_, number) => one(number)));
      return 1000 * count / (performance.now() - start);
    }"""
    return [
        ("thumbnails, made for the first time", f"{page.evaluate(ask, ['/thumb/', 400]):.0f} per second"),
        ("thumbnails, kept", f"{page.evaluate(ask, ['/thumb/', 400]):.0f} per second"),
    ]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("run", type=Path)
    arguments.add_argument("--images", type=Path, required=True)
    arguments.add_argument("--cache", type=Path, required=True)
    arguments.add_argument("--count", type=int, default=100_000)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        large, pictures, kept = enlarge(given.run, given.images, given.cache, given.count, Path(folder))
        start = time.perf_counter()
        with server(large, pictures, kept) as (process, address):
            print(f"server up after {time.perf_counter() - start:.1f} s")
            print("| | |\n|---|---|")
            for name, value in measure(address, psutil.Process(process.pid)):
                print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
