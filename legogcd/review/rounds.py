"""The next round in the background: the same pipeline as `legogcd discover --from`, as a process of its own."""

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import psutil

from legogcd.edits.state import State
from legogcd.errors import UserError
from legogcd.files import parse_json, write_text
from legogcd.review.kept import Kept
from legogcd.review.workspace import Workspace
from legogcd.run.categories import read_state
from legogcd.run.folder import PREDICTIONS
from legogcd.training.files import read_metrics
from legogcd.wording import counted, human_seconds, printable

Json = dict[str, Any]
Stage = Literal["none", "running", "done", "failed", "cancelled"]
_EVERY = 0.5  # seconds between looks at the progress
_NUMBERED = re.compile(r"(.+)-(\d+)")


@dataclass(frozen=True)
class Progress:
    """How far a round is."""

    state: Stage = "none"
    epoch: int = 0
    epochs: int = 0
    seconds_left: float | None = None
    line: str = ""
    folder: str = ""


class Rounds:
    """At most one next round of a run at a time; ``tell`` is called whenever something about it changes."""

    def __init__(self, workspace: Workspace, kept: Kept, tell: Callable[[], None]) -> None:
        self.workspace, self.kept, self._tell = workspace, kept, tell
        self.progress = Progress()
        self._process: psutil.Process | None = None
        self._lock = threading.Lock()
        self._cancelled = False
        key = hashlib.sha256(str(workspace.run.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:12]
        self._note = kept.folder / f"round-{key}.json"  # a server that is started again finds the round by it
        self._log = kept.folder / f"round-{key}.log"
        self._changes: tuple[list[Json], list[str]] | None = None
        self._find_again()

    @property
    def folder(self) -> Path | None:
        """Where a finished round is."""
        return Path(self.progress.folder) if self.progress.state == "done" else None

    def start(self, epochs: int | None) -> None:
        """Begin the next round from what was decided so far."""
        with self._lock:
            if self.progress.state == "running":
                raise UserError("a round is running already; wait for it, or cancel it")
            read_state(self.workspace.run).labels()  # a confirmed group without a name is said now, not in a minute
            out = next_folder(self.workspace.run)
            command, epochs = self._command(out, epochs)
            self._cancelled, self._changes = False, None
            self.kept.folder.mkdir(parents=True, exist_ok=True)
            with open(self._log, "wb") as output:
                started = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
                )
            self._process = psutil.Process(started.pid)
            self.progress = Progress("running", 0, epochs, None, "starting the next round", str(out))
            note = {"pid": started.pid, "began": self._process.create_time(), "out": str(out), "epochs": epochs}
            write_text(self._note, json.dumps(note) + "\n")
            threading.Thread(target=self._follow, args=[started], name="next round", daemon=True).start()
        self._tell()

    def cancel(self) -> None:
        """Stop a round that is running; nothing of it is kept."""
        with self._lock:
            if self.progress.state != "running" or self._process is None:
                raise UserError("no round is running")
            self._cancelled = True
            _end(self._process)

    def answer(self) -> Json:
        """What the page is told."""
        found: Json = {**vars(self.progress), "changes": [], "unmatched": []}
        if self.folder is not None:
            if self._changes is None:
                self._changes = changes(self.workspace.run, self.folder)
            found["changes"], found["unmatched"] = self._changes
        return found

    def _command(self, out: Path, epochs: int | None) -> tuple[list[str], int]:
        """The command line, and how many epochs it trains."""
        config, location = self.workspace.config, self.workspace.location
        options = config.options.changed(n_classes=None, **({"epochs": epochs} if epochs else {}))
        words = shlex.split(" ".join(options.words()))
        if location.backbone is not None:
            words += ["--backbone", location.backbone]
        if location.cache is not None:
            words += ["--cache", str(location.cache)]
        images = str(self.workspace.files.root)
        code = "from legogcd.cli import main; main()"
        command = [sys.executable, "-c", code, "discover", images, "--from", str(self.workspace.run), *words]
        return [*command, "--no-report", "--out", str(out)], epochs or int(config.recipe.get("epochs", 0))

    def _find_again(self) -> None:
        """Go on following a round that an earlier server started, or find that it has ended since."""
        try:
            note = parse_json(self._note.read_bytes())
            pid, began, out, epochs = int(note["pid"]), float(note["began"]), Path(note["out"]), int(note["epochs"])
        except (OSError, ValueError, KeyError, TypeError):
            return
        process = _process(pid, began)
        if process is not None:
            self._process = process
            self.progress = Progress("running", 0, epochs, None, "going on with the round", str(out))
            threading.Thread(target=self._follow, args=[process], name="next round", daemon=True).start()
        elif (out / PREDICTIONS).is_file():
            self.progress = Progress("done", epochs, epochs, 0, "the next round is done", str(out))

    def _follow(self, process: "subprocess.Popen[bytes] | psutil.Process") -> None:
        out, began = Path(self.progress.folder), time.monotonic()
        while _runs(process):
            self._note_epochs(len(read_metrics(out)), time.monotonic() - began)
            time.sleep(_EVERY)
        with self._lock:
            self.progress = self._ended(out)
            if self.progress.state != "done":
                self._note.unlink(missing_ok=True)
        self._tell()

    def _note_epochs(self, epoch: int, passed: float) -> None:
        before = self.progress
        if epoch == before.epoch and before.line != "starting the next round":
            return
        left = passed / epoch * (before.epochs - epoch) if epoch else None
        line = f"epoch {epoch} of {before.epochs}" if epoch else "opening the kept views"
        if left == 0:
            line = "trained; sorting the images"
        elif left is not None:
            line += f", about {human_seconds(left)} left"
        self.progress = replace(before, epoch=epoch, seconds_left=left, line=line)
        self._tell()

    def _ended(self, out: Path) -> Progress:
        if self._cancelled:
            shutil.rmtree(out, ignore_errors=True)
            return replace(self.progress, state="cancelled", line="the round was cancelled; nothing of it is kept")
        if (out / PREDICTIONS).is_file():
            done = len(read_metrics(out))
            return replace(self.progress, state="done", epoch=done, seconds_left=0, line="the next round is done")
        return replace(self.progress, state="failed", line=f"the round failed: {self._last_words()}")

    def _last_words(self) -> str:
        try:
            lines = self._log.read_text("utf-8", "replace").splitlines()
        except OSError:
            lines = []
        said = [line for line in lines if line.strip()]
        return printable(said[-1].removeprefix("legogcd: ")) if said else "it said nothing"


def next_folder(run: Path) -> Path:
    """A free folder beside a run for the next round: run-2 after run, run-3 after run-2."""
    run = run.resolve()
    found = _NUMBERED.fullmatch(run.name)
    stem, number = (found[1], int(found[2])) if found else (run.name, 1)
    while True:
        number += 1
        folder = run.with_name(f"{stem}-{number}")
        if not folder.exists():
            return folder


def changes(before: Path, after: Path) -> tuple[list[Json], list[str]]:
    """What a round changed, group by group, the most first; and names that did not find their groups again."""
    from legogcd.run.carrying import match_groups, match_names

    old, new = read_state(before), read_state(after)
    became = match_groups(old, new)
    came_from = {now: name for name, now in became.items()}
    pairs: list[tuple[str | None, str | None]] = [
        (name, became.get(name)) for name in old.categories if not old.is_aside(name)
    ]
    pairs += [(None, name) for name in new.categories if name not in came_from]
    listed = [_change(was, now, old, new) for was, now in pairs]
    listed.sort(key=lambda entry: (-entry["came"] - entry["left"], entry["group"]))
    return listed, [*match_names(old, new).unmatched]


def _change(was: str | None, now: str | None, old: State, new: State) -> Json:
    """What became of one group."""
    before = set(old.images(was)) if was else set()
    after = set(new.images(now)) if now else set()
    kept = len(before & after)
    came, left = [old.place(path) for path in after - before], [new.place(path) for path in before - after]
    renamed = f" (was {was})" if was and now and was != now else ""
    if now is None:
        text = f"{was} is no group any more{_mostly(left, ': its images are in')}"
    elif was is None:
        text = f"{now} is a new group{_mostly(came, ': its images were in')}"
    elif not came and not left:
        text = f"{now}{renamed} has the same {counted(len(after), 'image')}"
    else:
        words = [f"{len(came)} came{_mostly(came, ' from')}"] if came else []
        words += [f"{len(left)} left{_mostly(left, ' for')}"] if left else []
        text = f"{now}{renamed}: {', '.join(words)}"
    counts = {"before": len(before), "after": len(after), "kept": kept, "came": len(came), "left": len(left)}
    return {"group": now or was, "was": was, **counts, "text": text}


def _mostly(places: list[str | None], lead: str) -> str:
    """Where most images came from or went, in words; nothing where none is in both rounds."""
    named = [place for place in places if place is not None]
    if not named:
        return ""
    most = max(sorted(set(named)), key=named.count)
    return f"{lead} {most}" if len(set(named)) == 1 else f"{lead} {most} and others"


def _process(pid: int, began: float) -> psutil.Process | None:
    """The process of that number, if it is still the one that began then."""
    try:
        process = psutil.Process(pid)
        return process if process.create_time() == began and _runs(process) else None
    except psutil.Error:
        return None


def _runs(process: "subprocess.Popen[bytes] | psutil.Process") -> bool:
    if isinstance(process, subprocess.Popen):
        return process.poll() is None
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _end(process: psutil.Process) -> None:
    """Ask a process of ours, and those it started, to end, and make it after a while."""
    try:
        process.terminate()
    except (OSError, psutil.Error):
        return

    def insist() -> None:
        _, alive = psutil.wait_procs([process], timeout=10)
        for stubborn in alive:
            stubborn.kill()

    threading.Thread(target=insist, name="ending a round", daemon=True).start()
