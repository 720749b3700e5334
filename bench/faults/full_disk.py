"""A disk that is full at any moment: runs on small file systems in memory, then the same with room.

Mounting one takes the rights to do so, as root has them.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.faults.trial import Trial, what_differs

PAGE = 4096
ROOM = 1 << 30


@dataclass
class FullDisks:
    """How runs took a full disk, by what was on it."""

    tried: dict[str, int] = field(default_factory=dict)
    full: dict[str, int] = field(default_factory=dict)  # one line, exit code 2
    fitted: dict[str, int] = field(default_factory=dict)
    identical: dict[str, int] = field(default_factory=dict)
    otherwise: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[str, int, str]]:
        return [
            (
                f"a disk too small for `--{what}`, then `--resume` with room",
                count,
                f"{self.full[what]} refused in one line with exit code 2, {self.fitted[what]} fitted; "
                f"{self.identical[what]} end with the same bytes, {count - self.identical[what]} do not",
            )
            for what, count in self.tried.items()
        ]

    def as_json(self) -> dict[str, Any]:
        return vars(self)


def fill_disks(trial: Trial, count: int) -> FullDisks:
    found = FullDisks()
    for what, share in (("out", count * 2 // 3), ("cache", count - count * 2 // 3)):
        _fill(replace(trial, disk="run" if what == "out" else "cache"), what, share, found)
    return found


def _fill(trial: Trial, what: str, count: int, found: FullDisks) -> None:
    with _disk(trial.home / "disk", ROOM):
        whole = trial.whole()
    need = sum(len(content) for name, content in whole.items() if name.startswith(trial.disk))
    found.tried[what] = found.full[what] = found.fitted[what] = found.identical[what] = 0
    for size in _sizes(need, count):
        with _disk(trial.home / "disk", size) as resize:
            trial.clear()
            done = trial.discover()
            found.tried[what] += 1
            found.fitted[what] += done.code == 0
            found.full[what] += done.is_one_line
            if done.code and not done.is_one_line:
                found.otherwise.append(f"{what} {size}: exit code {done.code}: {done.err[-300:]}")
            resize(ROOM)
            again = trial.discover("--resume")
            differing = what_differs(trial.left(), whole)
            found.identical[what] += not differing and not again.code
            if differing or again.code:
                found.otherwise.append(f"{what} {size}, resumed: {again.complaint} {', '.join(differing)}")


def _sizes(need: int, count: int) -> list[int]:
    """Very small ones, then up to twice what is needed: temporary files and checkpoints take as much again."""
    small = [PAGE * pages for pages in (1, 2, 3, 5, 8)][: count // 2]
    steps = count - len(small)
    return small + [(need * 2 * (step + 1) // steps) // PAGE * PAGE for step in range(steps)]


@contextmanager
def _disk(folder: Path, size: int) -> Iterator[Any]:
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "legogcd-faults", folder], check=True)

    def resize(size: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)

    try:
        yield resize
    finally:
        subprocess.run(["umount", folder], check=True)
