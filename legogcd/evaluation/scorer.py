"""Scores predictions against a truth it keeps to itself: what training may call without seeing the truth."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.errors import UserError
from legogcd.evaluation.accuracy import clustering_accuracy
from legogcd.evaluation.agreement import agreement
from legogcd.evaluation.label_pairs import as_array


class Scorer:
    """All/Old/New accuracy, NMI and ARI of predictions over the images that have a true class.

    ``truth_codes`` [N] are class ids, Old below ``n_known``, -1 where an image is not to be scored. With ``balanced``
    every class weighs the same in the accuracies.

    >>> Scorer(np.array([0, 1, -1]), n_known=1)(np.array([3, 4, 3]))
    {'all': 1.0, 'old': 1.0, 'new': 1.0, 'nmi': 1.0, 'ari': 1.0}
    """

    def __init__(self, truth_codes: NDArray[np.int64], n_known: int, balanced: bool = False) -> None:
        codes = as_array(truth_codes)
        self._scored = codes >= 0
        if not self._scored.any():
            raise UserError("the truth names no unlabelled image's class, so there is nothing to score")
        self._classes = codes[self._scored]
        self._n_known, self._balanced = n_known, balanced

    def __call__(self, predictions: Any) -> dict[str, float]:
        """Scores by name for the predictions [N] of all images."""
        predicted = as_array(predictions)
        if predicted.shape != self._scored.shape:
            raise UserError(f"{len(predicted)} predictions for {len(self._scored)} images; expected one per image")
        clusters = predicted[self._scored]
        accuracy = clustering_accuracy(self._classes, clusters, self._n_known, self._balanced)
        nmi, ari = agreement(self._classes, clusters)
        return {"all": accuracy.all, "old": accuracy.old, "new": accuracy.new, "nmi": nmi, "ari": ari}
