"""Would the loss have told when to stop? ``python -m bench.accuracy.when_flat RUN…``, of finished runs with scores.

What ``--set until_flat=true`` would have done: end at the first epoch whose last ``--window`` epochs have a mean loss
less than ``--share`` below that of as many before them. One row per run: All / Old / New there and at the last epoch.
The rate was that of the whole schedule: this is what stopping gives, not what a schedule made for that length would.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from legogcd.run.folder import read_metrics
from legogcd.training.flat import SHARE, WINDOW, flat_at


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy.when_flat", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--window", type=int, default=WINDOW, help="epochs")
    parser.add_argument("--share", type=float, default=SHARE)
    options = parser.parse_args(arguments)
    print("\n".join(table(options.runs, options.window, options.share)))


def table(runs: Sequence[Path], window: int, share: float) -> Iterator[str]:
    yield "| run | flat at epoch | there | at the last epoch |"
    yield "|---|--:|--:|--:|"
    for run in runs:
        epochs = read_metrics(run)
        stop = flat_at([epoch["loss"] for epoch in epochs], window, share)
        there = scores(epochs[stop - 1]) if stop else "–"
        yield f"| {run.parent.name}, {run.name} | {stop or 'never'} of {len(epochs)} | {there} | {scores(epochs[-1])} |"


def scores(epoch: dict[str, float]) -> str:
    return " / ".join(f"{100 * epoch[part]:.1f}" for part in ("all", "old", "new"))


if __name__ == "__main__":
    main()
