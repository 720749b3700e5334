"""How long commands and imports take to start, in CPU seconds.

``python -m bench.speed.start --before DIR`` holds another copy of legogcd against this one, by turns: every command on
25 small pictures and a finished run of them, so that starting is what takes the time. What the libraries underneath
take alone stands beside it.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np
from PIL import Image

from bench.speed.contest import said, spread

IMPORT = "from legogcd import LegoGCD"
_MAIN = "import sys; sys.argv[0] = 'legogcd'; from legogcd.cli import main; main()"
_SORT = "discover pictures --labels labels.csv --classes 3 --cache cache --image-size 96 --views 2"
COMMANDS = {  # on a run of each copy's own; FRESH is another name each time
    "legogcd --help": "--help",
    "legogcd methods": "methods",
    "legogcd backbones": "backbones",
    "legogcd name": "name run new-001 owl",
    "legogcd undo": "undo run",
    "legogcd export": "export run --to csv --out FRESH.csv",
    "legogcd predict, 25 files": "predict run pictures --out FRESH.csv",
    "legogcd estimate-classes": "estimate-classes pictures --labels labels.csv --cache cache --out FRESH.png"
    " --image-size 96 --views 2",
    "a wrong --method": f"{_SORT} --out FRESH --method simgdc",
    "a wrong --set": f"{_SORT} --out FRESH --set bta=1",
}
IMPORTS = {IMPORT: IMPORT, "what report needs": "import legogcd.report.page"}
UNDERNEATH = {"scikit-learn's base": "import sklearn.base", "torch": "import torch"}


@dataclass
class Copy:
    """A copy of legogcd, and a folder with pictures and a run that it has made itself."""

    code: Path
    work: Path
    numbers: Iterator[int] = field(default_factory=count)

    def prepare(self) -> None:
        """25 pictures of three colors, labels for some of two, a run."""
        random = np.random.default_rng(0)
        (self.work / "pictures").mkdir(parents=True)
        for number in range(25):
            pixels = np.eye(3)[number % 3] * 120 + random.normal(100, 30, (96, 96, 3))
            Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(self.work / "pictures" / f"{number:02d}.jpg")
        labels = [f"{number:02d}.jpg,{'red' if number % 3 else 'green'}" for number in range(12) if number % 3 < 2]
        (self.work / "labels.csv").write_text("\n".join(["path,label", *labels]) + "\n", "utf-8")
        self.command(f"{_SORT} --method kmeans --out run --no-report")

    def command(self, words: str) -> float:
        fresh = words.replace("FRESH", f"out-{next(self.numbers)}")
        return self.python(_MAIN, *fresh.split(), fails=words.split()[-1] in ("simgdc", "bta=1"))

    def python(self, program: str, *arguments: str, fails: bool = False) -> float:
        """CPU seconds of a process that runs ``program`` with this copy first on its path."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        environment = os.environ | {"PYTHONPATH": str(self.code), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, env=environment, cwd=self.work, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != (2 if fails else 0):
            sys.exit(f"{self.code}: {' '.join(arguments) or program} ended with {done.returncode}:\n{done.stderr}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def measure(self, what: str) -> float:
        return self.command(COMMANDS[what]) if what in COMMANDS else self.python((IMPORTS | UNDERNEATH)[what])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.start", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", type=Path, help="another copy of legogcd, such as a git worktree")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=[*COMMANDS, *IMPORTS], default=[*COMMANDS, *IMPORTS])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        copies = {"now": Copy(Path(__file__).parents[2], Path(home) / "now")}
        if options.before:
            copies["before"] = Copy(options.before.resolve(), Path(home) / "before")
        for copy in copies.values():
            copy.prepare()
        one_round(copies, options.only)  # does not count: byte code is written, files are read
        rounds = []
        for number in range(options.repeats):
            rounds.append(one_round(copies, options.only))
            print(f"round {number + 1}: {sum(rounds[-1].values()):.0f} CPU seconds", file=sys.stderr, flush=True)
    for what, name in rounds[0]:
        print(f"{what:<34} {name:<7} {said(spread(found[what, name] for found in rounds), 2)} CPU seconds")
    for what in options.only if options.before else ():
        ratios = spread(found[what, "before"] / found[what, "now"] for found in rounds)
        print(f"{what:<34} before / now: {said(ratios, 2)}")


def one_round(copies: dict[str, Copy], asked: list[str]) -> dict[tuple[str, str], float]:
    """CPU seconds by what was started and whose copy it was, the copies by turns."""
    found = {(what, name): copy.measure(what) for what in asked for name, copy in copies.items()}
    return found | {(what, "alone"): copies["now"].measure(what) for what in UNDERNEATH}


if __name__ == "__main__":
    main()
