"""Which labels training does not see, so that somebody can tell afterwards how far to trust its confidence."""

import numpy as np

from legogcd.errors import UserError


def hold_out(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Positions, ascending, of a ``share`` of the labelled images, each class in proportion, none losing its last.

    ``labels`` [N] are classes, -1 = unlabelled.

    >>> labels = np.repeat([0, 1, -1], 10)
    >>> held = hold_out(labels, 0.1, seed=0)
    >>> labels[held].tolist()
    [0, 1]
    """
    if not 0 <= share < 1:
        raise UserError(f"held_out = {share}: expected a share from 0 to below 1 of the labels")
    random = np.random.default_rng((seed, 1))
    positions, turn = [], []  # a class's images take their turns evenly spread over (0, 1)
    for number in np.unique(labels[labels >= 0]):
        members = random.permutation(np.flatnonzero(labels == number))
        spare = members[: len(members) - 1]
        positions.append(spare)
        turn.append((np.arange(len(spare)) + random.random()) / len(members))
    if not positions:
        return np.empty(0, np.int64)
    wanted = round(share * int((labels >= 0).sum()))
    order = np.argsort(np.concatenate(turn), kind="stable")[:wanted]
    return np.sort(np.concatenate(positions)[order])
