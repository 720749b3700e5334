"""Clustering accuracy: the share of images whose cluster stands for their class under the best one-to-one matching."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from legogcd.errors import UserError
from legogcd.evaluation.label_pairs import label_pair


@dataclass(frozen=True)
class Accuracy:
    """Fractions over all images, those of Old and those of New classes; NaN where there are none.

    ``matching`` gives the class each cluster stands for, -1 where it stands for none it has an image of.
    """

    all: float
    old: float
    new: float
    matching: dict[Any, int]


def clustering_accuracy(y_true: Any, y_pred: Any, n_known: int, balanced: bool = False) -> Accuracy:
    """Match clusters to classes once over all images, then count: max over matchings m of Σ_i [m(ŷ_i) = y_i] / N.

    ``y_true`` [N] are class ids, Old below ``n_known``; ``y_pred`` [N] cluster ids of any kind and number. With
    ``balanced`` the matching is the same, and each class counts the same.

    >>> score = clustering_accuracy([0, 0, 1, 2, 2, 2], [5, 5, 5, 7, 7, 9], n_known=2)
    >>> round(score.all, 3), round(score.old, 3), round(score.new, 3), score.matching
    (0.667, 0.667, 0.667, {5: 0, 7: 2, 9: -1})
    """
    true_ids, predicted = label_pair(y_true, y_pred)
    if n_known < 0:
        raise UserError(f"n_known is {n_known}; expected the number of known classes, 0 or more")
    classes, class_of = np.unique(true_ids, return_inverse=True)
    clusters, cluster_of = np.unique(predicted, return_inverse=True)
    cells = np.bincount(cluster_of * len(classes) + class_of, minlength=len(clusters) * len(classes))
    table = cells.reshape(len(clusters), len(classes))  # images of each cluster in each class
    rows, columns = _best_matching(table)
    hits = np.zeros(len(classes), dtype=np.int64)
    hits[columns] = table[rows, columns]
    stands_for = np.full(len(clusters), -1, dtype=np.int64)
    stands_for[rows] = np.where(table[rows, columns] > 0, classes[columns], -1)
    sizes, old = table.sum(axis=0), classes < n_known
    share = _mean_of_classes if balanced else _share_of_images
    return Accuracy(
        all=share(hits, sizes),
        old=share(hits[old], sizes[old]),
        new=share(hits[~old], sizes[~old]),
        matching=dict(zip(clusters.tolist(), stands_for.tolist(), strict=True)),
    )


def _best_matching(table: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of a maximum one-to-one matching.

    Of several best ones the choice must not hang on how clusters are numbered: their rows are put in order first.
    """
    order = np.lexsort(table.T)
    rows, columns = linear_sum_assignment(table[order], maximize=True)
    return order[rows], columns


def _share_of_images(hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
    return float(hits.sum() / sizes.sum()) if sizes.size else float("nan")


def _mean_of_classes(hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
    return float((hits / sizes).mean()) if sizes.size else float("nan")
