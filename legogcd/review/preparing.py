"""The background process that computes what the page wants to know of a run's images; see `legogcd.review.prepare`."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from legogcd.files import parse_json
from legogcd.review.insight import Insight
from legogcd.review.kept import digest_of_edits
from legogcd.review.workspace import Location

_QUIET = 10.0  # seconds without an edit after which what is suspicious is searched for again
Told = Callable[[list[str], str], None]
"""Is given the pieces that have just become ready, and a line that says what is being done; empty at the end."""


class Preparing:
    """Starts the process if anything is missing, and takes in each piece as it appears."""

    def __init__(self, location: Location, insight: Insight, tell: Told) -> None:
        self.insight, self._tell = insight, tell
        self.line = ""
        self._location = location
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._version, self._since = -1, 0.0  # how many edits there are, and since when

    def start(self) -> None:
        self._thread = threading.Thread(target=self._follow, name="preparing", daemon=True)
        self._thread.start()

    def keep_up(self, version: int) -> None:
        """Search again for what is suspicious when a person rests; to be called every now and then."""
        if version != self._version:
            self._version, self._since = version, time.monotonic()
        elif self._since and time.monotonic() - self._since > _QUIET and not (self._thread and self._thread.is_alive()):
            self._since = 0.0  # once for every rest
            if self.insight.ready and self._outdated():
                self.start()

    def _outdated(self) -> bool:
        return self.insight.searched != digest_of_edits(self._location.run)

    def stop(self) -> None:
        """End the process; what it has written stays."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def _follow(self) -> None:
        missing = self.insight.missing()
        if self.insight.ready:
            self._tell(self.insight.ready, "")
        if not missing and not self._outdated():
            return
        self._process = subprocess.Popen(
            command(self._location), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        for line in self._process.stdout:
            self.line = _said(line)
            self._tell(self.insight.refresh(), self.line)
        code = self._process.wait()
        fresh = self.insight.refresh()
        self.line = "" if code == 0 else _last_line(self._process.stderr)
        self._tell(fresh, self.line)


def command(location: Location) -> list[str]:
    given = {name: None if value is None else str(value) for name, value in vars(location).items()}
    return [sys.executable, "-m", "legogcd.review.prepare", json.dumps(given)]


def read_location(text: str) -> Location:
    """What `command` wrote as its last word."""
    given = parse_json(text)
    paths = {name: None if given[name] is None else Path(given[name]) for name in ("images", "cache", "vocabulary")}
    return Location(Path(given["run"]), backbone=given["backbone"], **paths)


def _said(line: bytes) -> str:
    return line.decode("utf-8", "replace").strip()


def _last_line(errors: IO[bytes]) -> str:
    lines = [line for line in errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return f"likeness, map and suggestions are not to be had: {lines[-1] if lines else 'the process ended'}"
