"""What finished runs took for known classes, and how much of it is: ``python -m bench.accuracy.taken_for_known RUN…``.

Of the images without a label, in sets whose folders are their true classes: how many are of known classes, how many a
run sorts into known classes, how many of these are of a known class, and how many of the class it says; means over the
seeds of a folder and method.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from legogcd.errors import UserError
from legogcd.run.config import read_config
from legogcd.run.discovery import read_predictions


class Taken(NamedTuple):
    """Images without a label of one run."""

    of_known: int
    taken: int
    truly: int
    right: int


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy.taken_for_known", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    try:
        print("\n".join(table(parser.parse_args(arguments).runs)))
    except UserError as error:
        parser.error(str(error))


def table(runs: Sequence[Path]) -> Iterator[str]:
    """A row per data set and method, means over its runs."""
    found: dict[tuple[str, str], list[Taken]] = {}
    for run in runs:
        found.setdefault((run.parent.name, read_config(run).method), []).append(taken_for_known(run))
    yield "| runs | method | seeds | of known classes | taken for known | of these of known classes | as said |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for (folder, method), some in found.items():
        of_known, taken, truly, right = (sum(column) / len(some) for column in zip(*some, strict=True))
        shares = [f"{count:.0f} ({100 * count / taken:.0f} %)" if taken else "–" for count in (truly, right)]
        yield f"| {folder} | {method} | {len(some)} | {of_known:.0f} | {taken:.0f} | {' | '.join(shares)} |"


def taken_for_known(run: Path) -> Taken:
    known = read_config(run).known
    rows = read_predictions(run).query("status != 'labelled'")
    truth = rows["path"].str.partition("/")[0]
    taken = rows["predicted"].isin(known)
    return Taken(
        int(truth.isin(known).sum()),
        int(taken.sum()),
        int((taken & truth.isin(known)).sum()),
        int((taken & (truth == rows["predicted"])).sum()),
    )


if __name__ == "__main__":
    main()
