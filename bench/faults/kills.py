"""Kill a run at random moments of each of its phases, go on with --resume, and compare every byte."""

import os
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bench.faults.command import Running
from bench.faults.phases import PHASES, tell_phases
from bench.faults.trial import Trial, checkpoint_every_epoch, what_differs


@dataclass
class Kills:
    """How runs ended that were killed and gone on with."""

    hit: Counter[str] = field(default_factory=Counter)  # by phase
    identical: int = 0
    otherwise: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.hit.total()

    def rows(self) -> list[tuple[str, int, str]]:
        hits = ", ".join(f"{phase} {self.hit[phase]}" for phase in PHASES if self.hit[phase])
        outcome = f"{self.identical} end with the same bytes, {len(self.otherwise)} do not; hit in: {hits}"
        return [("SIGKILL at a random moment, then `--resume`", self.count, outcome)]

    def as_json(self) -> dict[str, Any]:
        return {"count": self.count, "identical": self.identical, "otherwise": self.otherwise, "hit": dict(self.hit)}


@dataclass
class Moments:
    """When a run entered its phases: (phase, seconds since the one before)."""

    entered: list[tuple[int, float]]

    def choose(self, chooser: random.Random, phase: str) -> tuple[int, float]:
        """How many entries to wait for, and how long after the last of them to kill, to hit a phase somewhere."""
        places = [place for place, (entered, _) in enumerate(self.entered) if PHASES[entered] == phase]
        place = chooser.choice(places)
        following = self.entered[place + 1][1] if place + 1 < len(self.entered) else 0.2
        return place + 1, chooser.random() * following


def kill_runs(trial: Trial, count: int, seed: int = 0, whole: dict[str, bytes] | None = None) -> Kills:
    whole = whole if whole is not None else trial.whole()
    chooser, found, number = random.Random(seed), Kills(), 0
    fresh, encoded = _moments(trial), _moments(trial, whole)
    while found.count < count:
        wanted = PHASES[number % len(PHASES)]
        at_encoding = wanted in ("open", "encode")
        trial.clear()
        if not at_encoding:
            trial.put_cache(whole)
        phase = _killed(trial, *(fresh if at_encoding else encoded).choose(chooser, wanted))
        number += 1
        if phase is None:  # it was faster this time, and had ended
            continue
        found.hit[phase] += 1
        done = trial.discover("--resume")
        differing = what_differs(trial.left(), whole)
        if done.code or differing:
            found.otherwise.append(f"{phase}: {done.complaint if done.code else ''} {', '.join(differing)}")
        else:
            found.identical += 1
    return found


def _started(trial: Trial) -> tuple[Running, int]:
    reading, writing = os.pipe()

    def before() -> None:
        os.close(reading)
        checkpoint_every_epoch()
        tell_phases(writing)

    running = Running(trial.words(), before)
    os.close(writing)
    return running, reading


def _moments(trial: Trial, cached: dict[str, bytes] | None = None) -> Moments:
    trial.clear()
    if cached is not None:
        trial.put_cache(cached)
    running, reading = _started(trial)
    entered, before = [], time.monotonic()
    while phase := os.read(reading, 1):
        now = time.monotonic()
        entered.append((phase[0], now - before))
        before = now
    os.close(reading)
    running.wait()
    return Moments(entered)


def _killed(trial: Trial, entries: int, delay: float) -> str | None:
    """Kill a fresh run ``delay`` seconds after so many phases were entered; the phase it died in."""
    running, reading = _started(trial)
    seen = b""
    while len(seen) < entries and (more := os.read(reading, 1)):
        seen = seen + more
    time.sleep(delay)
    running.kill()
    while more := os.read(reading, 4096):
        seen = seen + more
    os.close(reading)
    return PHASES[seen[-1]] if running.wait().code < 0 else None
