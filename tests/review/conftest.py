"""What the tests of the page's server share: a small finished run with a real model, everything computed of it."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from browser_pages import Tab, serving
from example_pictures import write_pictures
from starlette.testclient import TestClient

from legogcd.collection import find_images, from_folders
from legogcd.review.app import build_app
from legogcd.review.guard import Guard
from legogcd.review.prepare import prepare
from legogcd.review.session import Session
from legogcd.review.workspace import Location
from legogcd.run import Job, RunOptions, discover

HOST = "127.0.0.1:8765"


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, tiny_vit: Path) -> Location:
    """A finished run on 32 pictures of four colors, two of them known; to be copied by tests that edit it."""
    root = tmp_path_factory.mktemp("review")
    images = write_pictures(root / "pictures")
    collection, _ = from_folders(find_images(images), ["blue", "green"])
    options = RunOptions(
        n_classes=4, backbone=str(tiny_vit), image_size=32, views=2, epochs=2, cache=root / "cache", threads=1
    )
    discover(Job(collection, options, "colors"), root / "run")
    location = Location(root / "run", images, str(tiny_vit), root / "cache")
    prepare(location)
    return location


@pytest.fixture
def location(prepared: Location, tmp_path: Path) -> Location:
    """A copy of the run to edit."""
    shutil.copytree(prepared.run, tmp_path / "run")
    return replace(prepared, run=tmp_path / "run")


@dataclass
class Page:
    """A page's view of the server, in this process."""

    client: TestClient
    session: Session

    def state(self) -> dict[str, Any]:
        return self.get("/api/state")

    def get(self, path: str, status: int = 200, **params: Any) -> Any:
        answer = self.client.get(path, params=params or None)
        assert answer.status_code == status, answer.text
        return answer.json()

    def post(self, path: str, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
        answer = self.client.post(path, json=body)
        assert answer.status_code == status, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def edit(self, status: int = 200, version: int | None = None, **edit: Any) -> dict[str, Any]:
        seen = self.state()["version"] if version is None else version
        return self.post("/api/edits", {"version": seen, "edit": edit}, status)

    def groups(self) -> dict[str, dict[str, Any]]:
        return {group["id"]: group for group in self.state()["groups"]}

    def ids(self, group: str) -> list[int]:
        found: list[int] = self.get("/api/order", group=group)["ids"]
        return found


def open_page(location: Location) -> Page:
    session = Session(location, prepare=False)
    client = TestClient(
        Guard(build_app(session), [HOST], "right"), base_url=f"http://{HOST}", headers={"origin": f"http://{HOST}"}
    )
    client.get("/?token=right")
    return Page(client, session)


@pytest.fixture
def page(location: Location) -> Page:
    return open_page(location)


@pytest.fixture
def another_page() -> Callable[[Location], Page]:
    return open_page


@pytest.fixture
def address(location: Location) -> Iterator[str]:
    """Where the page of a fresh copy of the run is served."""
    with serving(location) as opened:
        yield opened


@pytest.fixture
def tab(chromium: Any, address: str) -> Iterator[Tab]:
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    opened = Tab(context.new_page(), address).open()
    yield opened
    opened.close()
    context.close()
