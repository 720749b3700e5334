"""Score a collection's predictions while it trains, without giving training the truth."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from legogcd.collection import Collection, Truth
from legogcd.evaluation.scorer import Scorer

Scores = dict[str, float | None]


def scoring(truth: Truth) -> Callable[[Collection, np.ndarray], Scores]:
    """A function of (collection, predicted classes [N]) that scores the unlabelled images; None where a part is empty.

    Training can call it without being given the truth.
    """

    @lru_cache(maxsize=1)  # a collection is scored every epoch; its truth is encoded once
    def scorer(collection: Collection) -> Scorer:
        return Scorer(truth.encode_unlabelled(collection), collection.n_known)

    def score(collection: Collection, predicted: np.ndarray) -> Scores:
        scores = scorer(collection)(predicted)
        return {name: None if math.isnan(value) else round(value, 6) for name, value in scores.items()}

    return score
