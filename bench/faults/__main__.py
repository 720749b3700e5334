"""Try what an unlucky user and a stranger would: ``python -m bench.faults [PART ...] [--count N]``.

Prints one Markdown table per part and writes the figures to results/faults.json.
"""

import argparse
import importlib
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from bench.faults.command import load_libraries
from bench.faults.trial import make_trial
from legogcd.files import write_text

PARTS = {  # module and function, and how often by default
    "kills": ("kills:kill_runs", 110),
    "operations": ("operations:die_at_every_operation", None),
    "full": ("full_disk:fill_disks", 24),
    "flips": ("flips:flip_bits", 2000),
    "images": ("images:sort_bad_images", None),
    "fuzz": ("fuzz:fuzz_readers", 2000),
    "foreign": ("foreign:try_strangers_runs", None),
    "cluster": ("cluster:kill_clusters", 1),
}


class Found(Protocol):
    """What a part found."""

    def rows(self) -> list[tuple[str, int, str]]:
        """What was tried, how often, and what came of it."""

    def as_json(self) -> dict[str, Any]: ...


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, "all"], default="all", metavar="PART", help=", ".join(PARTS)
    )
    parser.add_argument("--count", type=int, help="how often, for parts that can be tried any number of times")
    parser.add_argument("--only", nargs="+", default=[], help="of cluster, the cases that have all these words")
    parser.add_argument("--out", type=Path, default=Path("results/faults.json"))
    options = parser.parse_args()
    load_libraries()
    parts = list(PARTS) if "all" in options.parts else options.parts
    for part in parts:
        began = time.monotonic()
        found = _tried(part, options.count, *([options.only] if part == "cluster" else []))
        seconds = time.monotonic() - began
        print(f"\n{part}, {seconds:.0f} s\n\n{table(found.rows())}", flush=True)
        everything = json.loads(options.out.read_text()) if options.out.exists() else {}
        everything[part] = {**found.as_json(), "seconds": round(seconds)}
        write_text(options.out, json.dumps(everything, indent=1, ensure_ascii=False) + "\n")


def table(rows: list[tuple[str, int, str]]) -> str:
    lines = ["| tried | how many | outcome |", "|---|---:|---|"]
    return "\n".join(lines + [f"| {what} | {count:,} | {outcome} |" for what, count, outcome in rows])


def _tried(part: str, count: int | None, *more: Any) -> Found:
    place, usual = PARTS[part]
    module, name = place.split(":")
    function = getattr(importlib.import_module(f"bench.faults.{module}"), name)
    with tempfile.TemporaryDirectory(prefix="legogcd-faults-") as home:
        os.environ["XDG_STATE_HOME"] = f"{home}/state"  # where runs made here are noted
        trial = make_trial(Path(home))
        found: Found = function(trial) if usual is None else function(trial, count or usual, *more)
    return found


if __name__ == "__main__":
    main()
