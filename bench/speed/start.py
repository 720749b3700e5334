"""How long a start takes, in CPU seconds: ``legogcd --help``, ``from legogcd import LegoGCD``, predict, report.

``python -m bench.speed.start --before DIR`` holds another copy of legogcd against this one, by turns; what the
libraries underneath take alone stands beside it.
"""

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

from bench.speed.contest import said, spread

HELP = "import sys; sys.argv = ['legogcd', '--help']; from legogcd.cli import main; main()"
IMPORT = "from legogcd import LegoGCD"
PREDICT = (
    "import legogcd.run.predict; from legogcd.vision.backbones import load_backbone; "
    "load_backbone('efficientnet-lite0')"
)
REPORT = "import legogcd.report.page"
_OURS = {"legogcd --help": HELP, IMPORT: IMPORT, "what predict needs": PREDICT, "what report needs": REPORT}
UNDERNEATH = {"scikit-learn's base": "import sklearn.base", "torch": "import torch"}


def cpu_seconds(program: str, folder: Path) -> float:
    """CPU seconds of a Python process that runs ``program`` with ``folder`` first on its path."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", program], env=environment, cwd="/", capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.start", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", type=Path, help="another copy of legogcd, such as a git worktree")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=sorted(_OURS), default=list(_OURS))
    options = parser.parse_args()
    here = Path(__file__).parents[2]
    copies = {"now": here} | ({"before": options.before.resolve()} if options.before else {})
    ours = {what: _OURS[what] for what in options.only}
    contenders = {(what, name): (program, folder) for name, folder in copies.items() for what, program in ours.items()}
    contenders |= {(what, "alone"): (program, here) for what, program in UNDERNEATH.items()}
    for program, folder in contenders.values():  # one round that does not count: byte code is written, files are read
        cpu_seconds(program, folder)
    rounds = [{key: cpu_seconds(*contender) for key, contender in contenders.items()} for _ in range(options.repeats)]
    for what, name in contenders:
        print(f"{what:<34} {name:<7} {said(spread(found[what, name] for found in rounds), 2)} CPU seconds")
    for what in ours if options.before else ():
        ratios = spread(found[what, "before"] / found[what, "now"] for found in rounds)
        print(f"{what:<34} before / now: {said(ratios, 2)}")


if __name__ == "__main__":
    main()
