"""Where a command's time goes: seconds by phase, in the order in which they came."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Phases:
    """Seconds by phase; the time of a phase inside another is not the other's.

    >>> phases = Phases()
    >>> phases.add("encoding", 30.0)
    >>> phases.add("training", 90.0)
    >>> phases.lines()
    ['encoding  30.0 s  25 %', 'training  90.0 s  75 %']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def add(self, name: str, seconds: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        self.seconds.setdefault(name, 0.0)
        began, before = time.monotonic(), sum(self.seconds.values())
        try:
            yield
        finally:
            inside = sum(self.seconds.values()) - before
            self.add(name, max(0.0, time.monotonic() - began - inside))

    def lines(self) -> list[str]:
        """One phase per line for people: what it took, and its share of all."""
        whole = sum(self.seconds.values()) or 1.0
        # of whole milliseconds, as timing.jsonl has them: 0.0499 s is 0.05 there, and both must say the same
        took = {name: f"{round(seconds, 3):.1f} s" for name, seconds in self.seconds.items()}
        widths = [max(map(len, column), default=0) for column in (took, took.values())]
        return [
            f"{name:<{widths[0]}}  {took[name]:>{widths[1]}}  {100 * seconds / whole:2.0f} %"
            for name, seconds in self.seconds.items()
        ]
