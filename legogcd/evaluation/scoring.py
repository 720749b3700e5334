"""Score a collection's predictions while it trains, without giving training the truth."""

import math
from collections.abc import Callable

import numpy as np

from legogcd.collection import Collection, Truth
from legogcd.evaluation.scorer import Scorer

Scores = dict[str, float | None]


def scoring(truth: Truth) -> Callable[[Collection, np.ndarray], Scores]:
    """A function of (collection, predicted classes [N]) that scores the unlabelled images; None where a part is empty.

    Training can call it without being given the truth.
    """
    return _Scoring(truth)


class _Scoring:
    """What `scoring` returns; an object, so that it can go to other processes."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self._last: tuple[Collection, Scorer] | None = None

    def __call__(self, collection: Collection, predicted: np.ndarray) -> Scores:
        if self._last is None or self._last[0] is not collection:  # scored every epoch; its truth is encoded once
            self._last = collection, Scorer(self.truth.encode_unlabelled(collection), collection.n_known)
        scores = self._last[1](predicted)
        return {name: None if math.isnan(value) else round(value, 6) for name, value in scores.items()}
