"""The server as it really runs: killed in the middle of work, with two pages open and somebody at the command line."""

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import PATIENCE, until

from legogcd.edits import Name
from legogcd.run.categories import append_edit, current, read_edits


class Browser:
    """A page's requests to a server that listens on a port, with the cookie it was given."""

    def __init__(self, address: str) -> None:
        self.host, _, query = address.removeprefix("http://").partition("/?")
        answer = self._ask("GET", f"/?{query}")
        assert answer.status == 303
        self.cookie = answer.getheader("set-cookie").partition(";")[0]

    def get(self, path: str) -> Any:
        answer = self._ask("GET", path)
        body = answer.read()
        assert answer.status == 200, body
        return json.loads(body)

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        answer = self._ask("POST", path, json.dumps(body))
        return answer.status, json.loads(answer.read())

    def events(self) -> Iterator[dict[str, Any]]:
        answer = self._ask("GET", "/api/events")
        while line := answer.readline():
            if line.startswith(b"data: "):
                yield json.loads(line.removeprefix(b"data: "))

    def _ask(self, method: str, path: str, body: str | None = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        headers = {"origin": f"http://{self.host}", "content-type": "application/json"}
        if hasattr(self, "cookie"):
            headers["cookie"] = self.cookie
        connection.request(method, path, body, headers)
        return connection.getresponse()


@contextmanager
def serving(location) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server's process, and the address it printed."""
    words = ["review", str(location.run), "--images", str(location.images), "--backbone", location.backbone]
    words += ["--cache", str(location.cache), "--no-browser"]
    code = "from legogcd.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, re.search(r"http://\S+", process.stdout.readline())[0]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_killed_server_loses_no_decision_that_it_answered(location) -> None:
    """Two pages edit as fast as they can until the process is killed; whatever was answered is in the log."""
    answered: list[str] = []
    with serving(location) as (process, address):
        browsers = [Browser(address), Browser(address)]
        version = browsers[0].get("/api/state")["version"]

        def name_groups(browser: Browser, mine: str) -> None:
            seen = version
            for number in range(10_000):
                edit = {"edit": "move", "images": [number % 32], "into": f"{mine} {number}"}
                try:
                    status, body = browser.post("/api/edits", {"version": seen, "edit": edit})
                except (OSError, http.client.HTTPException, ValueError):
                    return
                if status == 200:
                    answered.append(f"{mine} {number}")
                seen = body["state"]["version"]

        threads = [threading.Thread(target=name_groups, args=[b, m]) for b, m in zip(browsers, "ab", strict=True)]
        for thread in threads:
            thread.start()
        until(lambda: len(answered) >= 60 and {name[0] for name in answered} == {"a", "b"})
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        for thread in threads:
            thread.join()
        assert process.wait() == -signal.SIGKILL
    written = [edit.into for edit in read_edits(location.run)]
    assert set(answered) <= set(written)
    assert len(written) <= len(answered) + 2, "at most what each page was waiting for"
    with serving(location) as (_, address):
        state = Browser(address).get("/api/state")
        assert state["version"] == len(written)
        found = {group["id"]: group["size"] for group in state["groups"]}
        assert found == current(location.run)["category"].value_counts().to_dict()


def test_two_pages_and_the_command_line_see_each_other(location) -> None:
    with serving(location) as (process, address):
        one, other = Browser(address), Browser(address)
        events = other.events()
        assert next(events)["version"] == 0
        groups = [group["id"] for group in one.get("/api/state")["groups"] if not group["named"]]
        status, _ = one.post("/api/edits", {"version": 0, "edit": {"edit": "name", "group": groups[0], "name": "owl"}})
        assert status == 200
        _hear_of(events, version=1)
        append_edit(Path(location.run), Name(groups[1], "hawk"))
        _hear_of(events, version=2)
        status, body = other.post("/api/edits", {"version": 0, "edit": {"edit": "confirm", "groups": [groups[0]]}})
        assert status == 409
        assert {"owl", "hawk"} <= {group["id"] for group in body["state"]["groups"]}
        status, _ = other.post("/api/undo", {})
        assert status == 200
        assert groups[1] in [group["id"] for group in one.get("/api/state")["groups"]]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) in (0, 128 + signal.SIGTERM), "it ends while a page listens"


def test_the_server_listens_on_this_machine_only_and_holds_no_torch(location) -> None:
    import psutil

    with serving(location) as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{30,}", address)
        Browser(address).get("/api/state")
        found = psutil.Process(process.pid)
        listening = [entry.laddr.ip for entry in found.net_connections() if entry.status == psutil.CONN_LISTEN]
        assert listening == ["127.0.0.1"]
        if Path("/proc/self/maps").exists():
            assert "libtorch" not in Path(f"/proc/{process.pid}/maps").read_text()


def _hear_of(events: Iterator[dict[str, Any]], version: int) -> None:
    """Listen until a version is told of; nothing later is told before it, and a version may be told twice."""
    heard = next(event["version"] for event in events if event.get("version", -1) >= version)
    assert heard == version
