"""The review page in a real browser, with a server in this process and a run of its own for each test."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from patience import PATIENCE

from legogcd.review.app import build_app
from legogcd.review.guard import Guard
from legogcd.review.serve import _listening
from legogcd.review.session import Session
from legogcd.review.workspace import Location

TOKEN = "a-token-of-the-tests"


@contextmanager
def serving(location: Location) -> Iterator[str]:
    """The address to open, as long as the server runs."""
    listening = _listening("127.0.0.1", 0)
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    app = Guard(build_app(Session(location, prepare=False)), [host], TOKEN)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://{host}/?token={TOKEN}"
    finally:
        server.should_exit = True
        thread.join()


@dataclass
class Tab:
    """A tab with the page, what it complained about and what it asked for."""

    page: Any
    address: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(1000 * PATIENCE)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a name ran as code"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self) -> "Tab":
        self.page.goto(self.address)
        self.page.locator(".group-card").first.wait_for()
        return self

    def _hear(self, message: Any) -> None:
        if "GL Driver Message" not in message.text:  # a graphics driver without a graphics card talks of its speed
            self.complaints.append(message.text)

    def close(self) -> None:
        """Nothing was complained about, and nothing but the server was asked."""
        assert not self.complaints, self.complaints
        server = self.address.partition("/?")[0]
        outside = [url for url in self.requests if not url.startswith((server, "data:", "blob:"))]
        assert not outside, outside

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.evaluate("fetch('/api/state').then((answer) => answer.json())")
        return found

    def groups(self) -> dict[str, dict[str, Any]]:
        return {group["id"]: group for group in self.state()["groups"]}

    def order(self, group: str) -> list[int]:
        found: list[int] = self.page.evaluate(
            "group => fetch('/api/order?' + new URLSearchParams({group})).then((a) => a.json()).then((a) => a.ids)",
            group,
        )
        return found

    def card(self, group: str) -> Any:
        return self.page.locator(".group-card").filter(
            has=self.page.get_by_role("button", name=group, exact=True).and_(self.page.locator(".name-button"))
        )

    def shown(self, which: str = "") -> list[int]:
        """Images in the grid, by their ids in order; ``which`` narrows the tiles."""
        found: list[int] = self.page.evaluate(
            "which => [...document.querySelectorAll('.images-box .tile' + which)]"
            ".sort((a, b) => a.ariaPosInSet - b.ariaPosInSet).map((tile) => Number(tile.dataset.id))",
            which,
        )
        return found

    def selected(self) -> list[int]:
        return self.shown('[aria-selected="true"]')

    def said(self, text: str) -> None:
        """Wait until the page says this."""
        self.page.locator("#told").filter(has_text=text).wait_for()

    def look_at(self, group: str) -> Any:
        """Go to the images of a group."""
        self.card(group).locator(".mosaic").click()
        self.page.get_by_role("heading", name=group, exact=True).wait_for()
        tiles = self.page.locator(".images-box .tile")
        tiles.first.wait_for()
        return tiles


def log(location: Location) -> list[dict[str, Any]]:
    """The lines of edits.jsonl."""
    path = Path(location.run) / "edits.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
