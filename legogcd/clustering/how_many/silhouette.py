"""The number of clusters at which the unlabelled images lie best inside theirs."""

import numpy as np
from numpy.typing import NDArray

from legogcd.clustering.how_many.estimate import MOST_CLASSES, Estimate, Progress, Sample, candidates
from legogcd.clustering.kmeans.semi_supervised import semi_supervised_kmeans
from legogcd.errors import UserError

_STARTS = 2


def search_silhouette(sample: Sample, most: int | None, seed: int, progress: Progress) -> Estimate:
    """Maximise over K the mean silhouette (b − a)/max(a, b) of the unlabelled images.

    Clusters are those of semi-supervised k-means; a is the mean distance to the other unlabelled images of the same
    cluster, b that to the nearest other cluster's. K stays below where a class would have no more images than are
    labelled of a known one on average: very small clusters can have a high silhouette and mean nothing.
    The interval: K whose silhouette is within one standard error of the best.
    """
    free = sample.labels < 0
    bound = _bound(sample, most)
    found: dict[int, float] = {}
    errors: dict[int, float] = {}
    for k in candidates(max(sample.n_known, 2), bound):
        clusters = semi_supervised_kmeans(sample.points, sample.labels, k, seed, n_init=_STARTS).labels[free]
        scores = _silhouettes(sample.points[free], clusters)
        found[k], errors[k] = float(scores.mean()), float(scores.std() / len(scores) ** 0.5)
        progress(k, found[k])
    best = max(found, key=lambda k: (found[k], -k))
    close = [k for k, score in found.items() if score >= found[best] - errors[best]]
    return Estimate(
        best, min(close), max(close), sorted(found.items()), "silhouette", "mean silhouette of unlabelled images"
    )


def _silhouettes(points: NDArray[np.float32], clusters: NDArray[np.int64]) -> NDArray[np.float64]:
    """[U]; 0 where the unlabelled images are all in one cluster or each in its own: that says nothing."""
    from sklearn.metrics import silhouette_samples

    if not 1 < len(np.unique(clusters)) < len(points):
        return np.zeros(len(points))
    return np.asarray(silhouette_samples(points, clusters), dtype=np.float64)


def _bound(sample: Sample, most: int | None) -> int:
    fewest = max(sample.n_known, 2)
    distinct, distinct_new = (len(np.unique(x, axis=0)) for x in (sample.points, sample.points[sample.labels < 0]))
    possible = min(distinct, sample.n_known + distinct_new)
    if possible < fewest:
        raise UserError(f"there are only {distinct} different images, which is too few to count classes")
    smallest = (sample.labels >= 0).sum() / sample.n_known if sample.n_known else 0
    sizable = int(len(sample.labels) / max(smallest, 2))
    return max(fewest, min(most or MOST_CLASSES, sizable, possible))
