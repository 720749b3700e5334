"""The GCD paper's search: the number of clusters at which k-means agrees best with the labels."""

import numpy as np
from numpy.typing import NDArray

from legogcd.clustering.how_many.estimate import MOST_CLASSES, Estimate, Progress, Sample
from legogcd.clustering.kmeans.plain import kmeans
from legogcd.errors import UserError

_STARTS = 3


def search_labelled_accuracy(
    sample: Sample, most: int | None, seed: int, progress: Progress, starts: int = _STARTS
) -> Estimate:
    """Maximise over K in [n_known, most] the accuracy of k-means with K clusters on the labelled images.

    The accuracy is that of the best one-to-one matching of clusters to known classes. K is found by Brent's bounded
    search, which takes the accuracy for a function with one peak; it is not, so that the search can end beside it.
    The interval: evaluated K whose accuracy is within one standard error (that of a share) of the best.
    """
    from scipy.optimize import minimize_scalar

    labelled = sample.labels >= 0
    if not labelled.any():
        raise UserError("the approach 'gcd' needs labelled images, and there are none; use 'silhouette'")
    distinct = len(np.unique(sample.points, axis=0))
    most = max(sample.n_known, min(most or MOST_CLASSES, distinct))
    found: dict[int, float] = {}

    def loss(position: float) -> float:
        k = round(position)
        if k not in found:
            clusters = kmeans(sample.points, k, seed, n_init=starts).labels
            found[k] = _accuracy(sample.labels[labelled], clusters[labelled])
            progress(k, found[k])
        return -found[k]

    if sample.n_known < most:
        minimize_scalar(loss, bounds=(sample.n_known, most), method="bounded", options={"xatol": 0.5})
    else:
        loss(most)
    best = max(found, key=lambda k: (found[k], -k))
    error = (found[best] * (1 - found[best]) / labelled.sum()) ** 0.5
    close = [k for k, accuracy in found.items() if accuracy >= found[best] - error]
    return Estimate(best, min(close), max(close), sorted(found.items()), "gcd", "accuracy on labelled images")


def _accuracy(classes: NDArray[np.int64], clusters: NDArray[np.int64]) -> float:
    from scipy.optimize import linear_sum_assignment

    table = np.zeros((int(clusters.max()) + 1, int(classes.max()) + 1), dtype=np.int64)
    np.add.at(table, (clusters, classes), 1)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / len(classes))
