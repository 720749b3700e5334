"""Clustering accuracy: the share of images whose cluster stands for their class under the best one-to-one matching."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.errors import UserError
from legogcd.evaluation.label_pairs import label_pair

_MOST_PLACES = 5_000  # a table with more rows than that would not be small; ids beyond it are numbered anew


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
    ``balanced`` the matching is the same, and each class counts the same. Where several matchings are best, the one
    that the published evaluation takes is taken; it depends on how classes and clusters are numbered.

    >>> score = clustering_accuracy([0, 0, 1, 2, 2, 2], [5, 5, 5, 7, 7, 9], n_known=2)
    >>> round(score.all, 3), round(score.old, 3), round(score.new, 3), score.matching
    (0.667, 0.667, 0.667, {5: 0, 7: 2, 9: -1})
    """
    true_ids, predicted = label_pair(y_true, y_pred)
    if n_known < 0:
        raise UserError(f"n_known is {n_known}; expected the number of known classes, 0 or more")
    classes, class_of = _numbered(true_ids)
    clusters, cluster_of = _numbered(predicted)
    size = max(len(classes), len(clusters))
    table = np.bincount(cluster_of * size + class_of, minlength=size * size).reshape(size, size)
    stands_for = _best_matching(table)[: len(clusters)]  # [clusters] columns
    hits = np.zeros(size, dtype=np.int64)
    hits[stands_for] = table[np.arange(len(clusters)), stands_for]
    sizes = table.sum(axis=0)
    there = np.flatnonzero(sizes)
    old = classes[there] < n_known
    hits, sizes = hits[there], sizes[there]
    share = _mean_of_classes if balanced else _share_of_images
    return Accuracy(
        all=share(hits, sizes),
        old=share(hits[old], sizes[old]),
        new=share(hits[~old], sizes[~old]),
        matching={
            clusters[row].item(): int(classes[column]) if table[row, column] else -1
            for row, column in enumerate(stands_for)
            if table[row].any()
        },
    )


def _numbered(ids: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """What the rows or columns of the table stand for, and the row or column of each image [N].

    Whole numbers from 0 on are their own places, as in the published evaluation, also those no image has; anything
    else is put in order.
    """
    if ids.dtype.kind in "iu" and 0 <= ids.min() <= ids.max() < _MOST_PLACES:
        return np.arange(int(ids.max()) + 1), ids.astype(np.int64)
    names, place = np.unique(ids, return_inverse=True)
    return names, place


def _best_matching(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """The column each row of a square table [D, D] is matched to, so that the matched cells add up to the most.

    Several matchings can be best, and Old and New then depend on which one is taken. Rows and columns stand in the
    order of their numbers, the table is square and the cost is its maximum minus it: that gives the one which the
    published evaluation takes.
    """
    from scipy.optimize import linear_sum_assignment

    columns: NDArray[np.int64] = linear_sum_assignment(table.max() - table)[1]
    return columns


def _share_of_images(hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
    return float(hits.sum() / sizes.sum()) if sizes.size else float("nan")


def _mean_of_classes(hits: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
    return float((hits / sizes).mean()) if sizes.size else float("nan")
