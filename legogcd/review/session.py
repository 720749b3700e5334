"""A page's run and everything that serves it; the next round takes its place."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from legogcd.errors import UserError
from legogcd.review.answers import Answers
from legogcd.review.events import Events
from legogcd.review.insight import Insight
from legogcd.review.kept import Kept
from legogcd.review.pictures import SmallPictures
from legogcd.review.preparing import Preparing
from legogcd.review.rounds import Rounds
from legogcd.review.workspace import Location, Workspace

_EVERY = 0.5  # seconds between looks at the log for edits of others


class Desk:
    """One run on the desk."""

    def __init__(self, location: Location, tell: Callable[..., None]) -> None:
        self.location = location
        self.workspace = Workspace(location)
        self.insight = Insight(Kept(location.run, location.cache, location.vocabulary), len(self.workspace))
        self.answers = Answers(self.workspace, self.insight)
        self.pictures = SmallPictures(self.workspace.files)
        self.rounds = Rounds(self.workspace, self.insight.kept, lambda: tell(round=vars(self.rounds.progress)))

        def tell_ready(pieces: list[str], line: str) -> None:
            tell(ready=self.insight.ready, fresh=pieces, line=line)

        self.preparing = Preparing(location, self.insight, tell_ready)


class Session:
    """The run being worked on, and the events it tells to the pages."""

    def __init__(self, location: Location, prepare: bool = True) -> None:
        self.events = Events()
        self._prepare = prepare
        self._told = -1
        self._stop = threading.Event()
        self.desk = self._opened(location)
        self._watch = threading.Thread(target=self._watch_log, name="watching edits", daemon=True)

    def start(self) -> None:
        self._watch.start()

    def stop(self) -> None:
        self._stop.set()
        self.desk.preparing.stop()
        self.events.close()

    def open(self, location: Location) -> None:
        """Go on with another run."""
        before, self.desk = self.desk, self._opened(location)
        before.preparing.stop()
        self.events.tell(opened=self.desk.workspace.title)
        self.tell_version()

    def open_round(self) -> None:
        """Go on with the round that has just ended."""
        folder, before = self.desk.rounds.folder, self.desk.location
        if folder is None:
            raise UserError("there is no finished round to go on with")
        self.open(replace(before, run=folder, images=self.desk.workspace.files.root))

    def tell_version(self) -> None:
        """Tell the pages how many edits there are, if that changed."""
        version = self.desk.workspace.now().version
        if version != self._told:
            self._told = version
            self.events.tell(version=version)

    def first_event(self) -> dict[str, Any]:
        desk = self.desk
        return {
            "version": desk.workspace.now().version,
            "ready": desk.insight.ready,
            "line": desk.preparing.line,
            "round": vars(desk.rounds.progress),
        }

    def _opened(self, location: Location) -> Desk:
        desk = Desk(location, self.events.tell)
        if self._prepare:
            desk.preparing.start()
        else:
            desk.insight.refresh()
        return desk

    def _watch_log(self) -> None:
        while not self._stop.wait(_EVERY):
            try:
                self.tell_version()
                if self._prepare:
                    self.desk.preparing.keep_up(self.desk.workspace.now().version)
            except Exception as error:  # such as a log that somebody damaged: requests say it too
                self.events.tell(error=str(error))
                self._stop.wait(5)
