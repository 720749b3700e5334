"""Would the loss have told when to stop? ``python -m bench.accuracy.when_flat RUN…``, of finished runs with scores.

A run is called flat at the first epoch whose last ``--window`` epochs have a mean loss less than ``--share`` below that
of as many before them; truth has no part in it. One row per run: All / Old / New there and at the last epoch. The rate
was that of the whole schedule, so this is what stopping would give, not what a schedule made for that length would.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from legogcd.run.folder import read_metrics

WINDOW, SHARE = 10, 0.01


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


def flat_at(losses: Sequence[float], window: int = WINDOW, share: float = SHARE) -> int | None:
    """After how many epochs a loss no longer falls by ``share``, if ever.

    >>> flat_at([8, 4, 2, 1, 1, 1, 1], window=2)
    6
    >>> flat_at([8, 4, 2, 1], window=2) is None
    True
    """
    for end in range(2 * window, len(losses) + 1):
        before, last = sum(losses[end - 2 * window : end - window]), sum(losses[end - window : end])
        if last > (1 - share) * before:
            return end
    return None


def scores(epoch: dict[str, float]) -> str:
    return " / ".join(f"{100 * epoch[part]:.1f}" for part in ("all", "old", "new"))


if __name__ == "__main__":
    main()
