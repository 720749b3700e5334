"""Names a group might have, from what a classifier sees in its images; suggested, never given."""

from dataclasses import dataclass

import numpy as np

from legogcd.review.insight import Votes
from legogcd.review.snapshot import Snapshot

_CANDIDATES = 8  # names a group competes for
_LEAST = 0.08  # share of a group's votes below which nothing is suggested


@dataclass(frozen=True)
class Suggestion:
    """A name, where it comes from, and the share of the group's votes it has."""

    name: str
    source: str
    share: float


def suggest_names(votes: Votes | None, now: Snapshot) -> dict[int, Suggestion]:
    """A name for each group without one, no name twice and none that a category has: the best assignment overall."""
    if votes is None:
        return {}
    open_groups = [n for n in range(len(now.groups)) if not now.is_named(n) and n != now.aside]
    if not open_groups:
        return {}
    from scipy.optimize import linear_sum_assignment

    taken = {name.casefold() for name in now.groups}
    free = np.array([name.casefold() not in taken for name in votes.vocabulary])
    shares = np.stack([_shares(votes, now.members(number)) for number in open_groups]) * free  # [G, V]
    best = np.unique(np.argsort(-shares, axis=1, kind="stable")[:, :_CANDIDATES])
    rows, columns = linear_sum_assignment(shares[:, best], maximize=True)
    found = {}
    for row, column in zip(rows, best[columns], strict=True):
        if shares[row, column] >= _LEAST:
            found[open_groups[row]] = Suggestion(votes.vocabulary[column], votes.source, float(shares[row, column]))
    return found


def _shares(votes: Votes, members: np.ndarray) -> np.ndarray:
    """Each name's share of a group's votes [V]."""
    sums = np.bincount(
        votes.classes[members].ravel(), votes.weights[members].ravel().astype(float), len(votes.vocabulary)
    )
    return np.asarray(sums / max(len(members), 1))
