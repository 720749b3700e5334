"""Pictures of every view of the review page: ``python -m bench.review.pictures RUN --images DIR --out DIR``.

Each view at three widths, light and dark, to be looked at; with ``--guide``, the pictures of docs/guide.md instead. The
page is worked on a copy of the run.
"""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from bench.review.browser import browser_page, server

WIDTHS = {390: 844, 1024: 768, 1920: 1080}
GUIDE = (1400, 860)
READY = "fetch('/api/state').then((answer) => answer.json()).then((state) => state.ready.length === 6)"
DRAWN = "() => [...document.images].every((image) => image.complete || image.loading === 'lazy')"
Step = Callable[[Any], None]


def groups(page: Any) -> None:
    page.keyboard.press("1")
    page.locator(".group-card img").first.wait_for()


def naming(page: Any) -> None:
    """A new group with a suggestion is about to be named."""
    groups(page)
    page.locator(".group-card").filter(has=page.locator(".suggestion")).first.locator(".name-button").click()
    page.keyboard.type("s")


def split(page: Any) -> None:
    groups(page)
    page.keyboard.press("s")
    page.locator(".part img").first.wait_for()


def images(page: Any) -> None:
    page.keyboard.press("2")
    page.locator(".images-box .tile img").first.wait_for()


def map_beside(page: Any) -> None:
    """Two images of a group are selected, and marked on the map."""
    images(page)
    page.keyboard.press("3")
    page.locator(".map-here[data-drawn]").wait_for()
    for place in (3, 4):
        page.locator(".images-box .tile").nth(place).click()


def queue(page: Any) -> None:
    """One image of the question is clicked out."""
    page.keyboard.press("4")
    page.locator(".clump .tile img").first.wait_for()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")


def round_(page: Any) -> None:
    page.keyboard.press("5")
    page.locator(".round-form").wait_for()


def keys(page: Any) -> None:
    groups(page)
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()


VIEWS: dict[str, Step] = {
    "groups": groups,
    "naming": naming,
    "split": split,
    "images": images,
    "map": map_beside,
    "queue": queue,
    "round": round_,
    "keys": keys,
}
IN_GUIDE = {"groups": naming, "split": split, "images": map_beside, "queue": queue}


def take(page: Any, address: str, scheme: str, pictures: Mapping[Path, Step]) -> None:
    """Open the page anew for every picture, go to its view, and keep what is seen."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    for to, step in pictures.items():
        page.goto("about:blank")  # an address that differs after its # only would not be loaded again
        page.goto(address)
        page.locator(".group-card").first.wait_for()
        page.wait_for_function(READY, timeout=600_000)
        step(page)
        page.wait_for_function(DRAWN)
        page.wait_for_timeout(500)  # what fades or settles
        page.screenshot(path=to)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("run", type=Path)
    arguments.add_argument("--images", type=Path, required=True)
    arguments.add_argument("--cache", type=Path)
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("--guide", action="store_true", help="the pictures of docs/guide.md")
    arguments.add_argument("--only", nargs="+", choices=VIEWS, default=list(VIEWS))
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / given.run.name
        shutil.copytree(given.run, copy)
        (copy / "edits.jsonl").unlink(missing_ok=True)
        with server(copy, given.images, given.cache) as (_, address):
            if given.guide:
                _for_guide(address, given.out)
                return
            for width, height in WIDTHS.items():
                with browser_page(width, height) as page:
                    for scheme in ("light", "dark"):
                        wanted = {given.out / f"{name}-{width}-{scheme}.png": VIEWS[name] for name in given.only}
                        take(page, address, scheme, wanted)


def _for_guide(address: str, out: Path) -> None:
    pictures = {out / f"review-{name}.png": step for name, step in IN_GUIDE.items()}
    with browser_page(*GUIDE) as page:
        take(page, address, "light", pictures)
    for picture in pictures:
        Image.open(picture).convert("RGB").save(picture.with_suffix(".jpg"), quality=82)
        picture.unlink()


if __name__ == "__main__":
    main()
