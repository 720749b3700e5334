"""Run folders as a stranger may make them, given to every command that takes one: nothing outside is read or written.

Beside the run lies a private folder. The command's process notes what it opens, and everything outside the run and
the output is compared before and after.
"""

import hashlib
import json
import os
import pickle
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.faults.command import Done, run
from bench.faults.trial import Trial

CANARY = b"canary-4711"
SECONDS = 60
_ESCAPES = "\x1b[2J\x1b]0;mine\x07"


@dataclass
class Strangers:
    """What came of strangers' run folders: outcomes by case, and everything that should not have happened."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    escapes: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[str, int, str]]:
        rows = [
            (f"a stranger's run: {case}", counts.total(), ", ".join(f"{n} {what}" for what, n in counts.most_common()))
            for case, counts in self.outcomes.items()
        ]
        total = sum(counts.total() for counts in self.outcomes.values())
        ends = f"{len(self.escapes)} escapes, {len(self.unclear)} other than done or one clear line"
        return [*rows, ("all of them", total, ends)]

    def as_json(self) -> dict[str, Any]:
        outcomes = {case: dict(counts) for case, counts in self.outcomes.items()}
        return {"outcomes": outcomes, "escapes": self.escapes, "unclear": self.unclear}


@dataclass(frozen=True)
class Place:
    """Where a case happens: the stranger's run, his pictures, what is private, and what commands write."""

    home: Path

    @property
    def run(self) -> Path:
        return self.home / "stranger" / "run"

    @property
    def pictures(self) -> Path:
        return self.home / "stranger" / "pictures"

    @property
    def private(self) -> Path:
        return self.home / "private"

    @property
    def out(self) -> Path:
        return self.home / "out"

    def change(self, name: str, change: Callable[[Any], Any]) -> None:
        """Change a JSON file of the run, and seal the run as the stranger would."""
        content = json.loads((self.run / name).read_text())
        (self.run / name).write_text(json.dumps(change(content) or content, indent=1))
        self.seal()

    def rename_images(self, names: Sequence[str], category: str | None = None) -> None:
        lines = (self.run / "predictions.csv").read_text().splitlines()
        for place, name in enumerate(names, start=1):
            cells = [f'"{name}"', *lines[place].split(",")[1:]]
            if category is not None:
                cells[1] = f'"{category}"'
            lines[place] = ",".join(cells)
        (self.run / "predictions.csv").write_text("\n".join(lines) + "\n")
        self.seal()

    def seal(self) -> None:
        noted = json.loads((self.run / "manifest.json").read_text())
        for name in noted["files"]:
            noted["files"][name] = hashlib.sha256((self.run / name).read_bytes()).hexdigest()
        (self.run / "manifest.json").write_text(json.dumps(noted))

    def link(self, name: str, target: str) -> None:
        (self.run / name).unlink(missing_ok=True)
        (self.run / name).symlink_to(self.private / target)


def _own_folder(place: Place) -> None:
    place.change("config.json", lambda config: config["images"].update(root=str(place.private)))
    place.rename_images(["secret.png", "passwd"])


def _root(place: Place) -> None:
    place.change("config.json", lambda config: config["images"].update(root="/"))
    place.rename_images([str(place.private / name)[1:] for name in ("secret.png", "passwd")])


def _upwards(place: Place) -> None:
    place.rename_images(["../../private/secret.png", "digit-0/../../../private/secret.png", "../../private/passwd"])


def _absolute(place: Place) -> None:
    place.rename_images([str(place.private / "secret.png"), str(place.private / "passwd")])


def _links(place: Place) -> None:
    (place.pictures / "link.png").symlink_to(place.private / "secret.png")
    (place.pictures / "folder").symlink_to(place.private)
    place.rename_images(["link.png", "folder/secret.png", "folder/passwd"])


def _huge(name: str, number: int) -> Callable[[Place], None]:
    def change(place: Place) -> None:
        place.change(
            "config.json", lambda config: config["recipe" if "_" in name[9:] else "options"].update({name: number})
        )

    return change


def _backbone(place: Place) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.system, (f"touch {place.private / 'ran'}",)

    weights = place.home / "stranger" / "weights.pth"
    weights.write_bytes(pickle.dumps(Evil()))
    place.change("config.json", lambda config: config["options"].update(backbone=str(weights)))


def _kept_views(place: Place) -> None:
    place.change("config.json", lambda config: config.update(kept_in=f"../private/{place.private.name}"))


def _names(place: Place) -> None:
    (place.pictures / f"{_ESCAPES}.png").write_bytes((place.pictures / "digit-0" / "00.png").read_bytes())
    place.rename_images([f"{_ESCAPES}.png", f"gone{_ESCAPES}.png", "=1+1.png"], category=f"new {_ESCAPES}")


def _manifest(place: Place) -> None:
    noted = json.loads((place.run / "manifest.json").read_text())
    noted["files"]["../../private/passwd"] = "0" * 64
    (place.run / "manifest.json").write_text(json.dumps(noted))


def _linked_files(*names: str) -> Callable[[Place], None]:
    def link(place: Place) -> None:
        for name in names:
            place.link(name, "passwd")

    return link


def _linked_log(place: Place) -> None:
    place.link("edits.jsonl", "not-there-yet")


def _pipe(place: Place) -> None:
    (place.run / "edits.jsonl").unlink(missing_ok=True)
    os.mkfifo(place.run / "edits.jsonl")


CASES: dict[str, Callable[[Place], None]] = {
    "its images are a private folder": _own_folder,
    "its images are the whole disk": _root,
    "paths that go upwards": _upwards,
    "absolute paths": _absolute,
    "links among its images lead out": _links,
    "a backbone that runs code when unpickled": _backbone,
    "kept views elsewhere": _kept_views,
    "names that are escape sequences and formulas": _names,
    "a manifest of files elsewhere": _manifest,
    "its tables are links out": _linked_files("predictions.csv", "skipped.csv", "metrics.jsonl", "calibration.json"),
    "what is written is a link out": _linked_files("report.html", "edits.jsonl.lock", ".lock", "timing.jsonl"),
    "its log of edits is a link to nothing": _linked_log,
    "its log of edits is a pipe": _pipe,
    "10¹² classes": _huge("n_classes", 10**12),
    "images of 10⁹ pixels a side": _huge("image_size", 10**9),
    "a head of 10¹² numbers": _huge("projector_hidden", 10**12),
}


def try_strangers_runs(trial: Trial, cases: Sequence[str] | None = None, whole: bool = True) -> Strangers:
    """``whole``: every command; else those that need no model."""
    trial.whole()
    found = Strangers()
    for case in cases or CASES:
        for named in (False, True):  # whether the user names the folder of the images
            place = _set_up(trial, case)
            for name, words, before in _commands(place, named, whole):
                counts = found.outcomes.setdefault(case, Counter())
                counts[_tried(place, f"{case}: {name}", words, before, found)] += 1
    return found


def _set_up(trial: Trial, case: str) -> Place:
    place = Place(trial.home / "elsewhere")
    shutil.rmtree(place.home, ignore_errors=True)
    shutil.copytree(trial.run, place.run)
    shutil.copytree(trial.pictures, place.pictures)
    place.private.mkdir()
    place.out.mkdir()
    (place.private / "passwd").write_bytes(CANARY + b":x:0:0\n")
    picture = next((trial.pictures / "digit-7").iterdir()).read_bytes()
    (place.private / "secret.png").write_bytes(picture + CANARY)
    CASES[case](place)
    return place


def _commands(place: Place, named: bool, whole: bool) -> list[tuple[str, list[str], Callable[[], None] | None]]:
    from legogcd.export import FORMATS

    run_, images = str(place.run), ["--images", str(place.pictures)] if named else []
    commands: list[tuple[str, list[str], Callable[[], None] | None]] = [
        (f"export {to}", ["export", run_, "--to", to, "--out", str(place.out / to), *images], None) for to in FORMATS
    ]
    commands.append(
        (
            "export copies",
            ["export", run_, "--to", "folders", "--link", "copy", "--out", str(place.out / "copies"), *images],
            None,
        )
    )
    commands += [
        ("check", ["check", run_], None),
        ("name", ["name", run_, "new-001", "hawk"], None),
        ("merge", ["merge", run_, "digit-0", "digit-1"], None),
        ("undo", ["undo", run_], None),
    ]
    if whole:
        report = ["report", run_, "--device", "cpu", "--cache", str(place.out / "cache"), *images]
        commands.append(("report", report, None))
    if whole and not named:
        predict = ["predict", run_, str(place.pictures / "digit-3"), "--device", "cpu", "--threads", "1"]
        commands.append(("predict", [*predict, "--out", str(place.out / "table.csv")], None))
        commands.append(("LegoGCD.load", [], lambda: _load(place.run)))
    return commands


def _load(folder: Path) -> None:
    from legogcd import LegoGCD
    from legogcd.errors import UserError

    try:
        LegoGCD.load(folder, device="cpu")
    except UserError as mistake:
        print(f"legogcd: {mistake}", file=sys.stderr)
        raise SystemExit(2) from None
    raise SystemExit(0)


def _tried(place: Place, name: str, words: list[str], before: Callable[[], None] | None, found: Strangers) -> str:
    there, opened = _listing(place), place.home / "opened"
    opened.write_text("")

    def watched() -> None:
        import resource
        import signal

        _note_opens(place, opened)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
        if before is not None:
            before()

    done = run(words, watched)
    escapes = [f"opened {line}" for line in sorted(set(opened.read_text().splitlines()))]
    now = _listing(place)
    escapes += [f"changed {path}" for path in sorted({*there, *now}) if there.get(path) != now.get(path)]
    escapes += _leaks(place, done)
    found.escapes += [f"{name}: {escape}" for escape in escapes]
    if escapes:
        return "ESCAPED"
    if done.code == 0:
        return "done"
    if done.is_one_line or (done.code == 2 and name.endswith("check")):
        return "refused in one line"
    found.unclear.append(f"{name}: exit code {done.code}: {done.err[-400:]}")
    return "UNCLEAR"


def _note_opens(place: Place, opened: Path) -> None:
    """Note every file in the private folder that this process opens, links followed."""
    private, log = os.path.realpath(place.private), os.open(opened, os.O_WRONLY | os.O_APPEND)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            if arguments[2] & os.O_NOFOLLOW and os.path.islink(arguments[0]):  # noqa: PTH114
                return  # the system will refuse
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if path.startswith(private + os.sep):
                os.write(log, os.fsencode(path) + b"\n")

    sys.addaudithook(hook)


def _listing(place: Place) -> dict[str, str]:
    """Everything that is neither the run nor output, by path."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for folder in (place.private, place.pictures)
        for path in [folder, *folder.rglob("*")]
    }


def _leaks(place: Place, done: Done) -> list[str]:
    """What the output has of what is private, and escape sequences that would reach a terminal."""
    leaks = [f"said {CANARY!r}"] if CANARY.decode() in done.out + done.err else []
    leaks += ["an escape sequence in the terminal"] if "\x1b" in done.out + done.err else []
    for path in [*place.out.rglob("*"), place.run / "report.html"]:
        private = os.path.realpath(path).startswith(os.path.realpath(place.private))
        if private and path != place.run / "report.html":
            leaks.append(f"{path} leads to {os.path.realpath(path)}")
        elif path.is_file() and not private and CANARY in path.read_bytes():
            leaks.append(f"{path} holds what is private")
    return leaks
