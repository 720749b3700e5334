"""How many classes there are, known and new, in images of which some are labelled."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from legogcd.approaches import APPROACHES, PUBLISHED, check_approach
from legogcd.clustering.how_many.estimate import MOST_CLASSES, Estimate, Progress, Sample, Share, draw_sample
from legogcd.clustering.how_many.gcd import search_labelled_accuracy
from legogcd.clustering.how_many.neighbors import share_of_a_class
from legogcd.clustering.how_many.silhouette import search_silhouette
from legogcd.clustering.kmeans.points import as_points
from legogcd.clustering.kmeans.semi_supervised import as_classes
from legogcd.errors import UserError

__all__ = ["APPROACHES", "PUBLISHED", "Estimate", "estimate_classes"]

# Standard errors relative to 1/K that stand for what a resample cannot show.
_SIZES_DIFFER = 0.15  # new classes may be larger or smaller than known ones
_SILHOUETTE_ERROR = 0.35  # overlapping classes have their best silhouette far from their number


def _silent(k: int, score: float) -> None:
    pass


def estimate_classes(
    features: Any,
    labels: Any,
    *,
    approach: str = "combined",
    most: int | None = None,
    seed: int = 0,
    progress: Progress = _silent,
) -> Estimate:
    """Estimate the number K of classes from ``features`` [N, D] of length 1 and ``labels`` [N], -1 for unlabelled.

    K is at least the number of known classes and at most ``most`` (1,000, or what the images allow). ``progress`` is
    told each candidate that was clustered and its score. What is clustered is at most 5,000 images drawn at random,
    in their 64 principal directions (``gcd-published``: everything as it is); neighbours
    are looked up among all images, of at most 4,000 labelled ones. So
    50,000 images and 1,000 candidates stay a matter of a minute. No approach sees more of unlabelled images than
    their features.

    >>> random = np.random.default_rng(0)
    >>> truth = np.repeat(np.arange(8), 30)
    >>> x = np.eye(8)[truth] + 0.1 * random.normal(size=(240, 8))
    >>> x /= np.linalg.norm(x, axis=1, keepdims=True)
    >>> labels = np.where((truth < 5) & (np.arange(240) % 2 == 0), truth, -1)
    >>> estimate_classes(x, labels).classes
    8
    """
    points = as_points(features)
    classes = as_classes(labels, len(points))
    n_known = int(classes.max()) + 1
    _check(approach, classes, n_known, most)
    if approach == "combined":
        return _combine(points, classes, n_known, most, seed, progress)
    if approach == "neighbours":
        share = share_of_a_class(points, classes, seed)
        if share is None:
            raise UserError("the labels are too few to count classes by neighbours; use the approach 'silhouette'")
        return share.estimate(n_known, _bound(points, n_known, most), "neighbours")
    if approach == PUBLISHED:
        return search_labelled_accuracy(Sample(points, classes, n_known), most, seed, progress, starts=10)
    search = {"gcd": search_labelled_accuracy, "silhouette": search_silhouette}[approach]
    return search(draw_sample(points, classes, seed), most, seed, progress)


def _combine(
    points: NDArray[np.float32],
    classes: NDArray[np.int64],
    n_known: int,
    most: int | None,
    seed: int,
    progress: Progress,
) -> Estimate:
    """The mean of both estimates of 1/K with inverse variances as weights.

    In 1/K the neighbours' error is symmetric, and an estimate of 0, which a few overlapping known classes can give,
    has a large error and little weight.
    """
    bound = _bound(points, n_known, most)
    silhouette = search_silhouette(draw_sample(points, classes, seed), most, seed, progress)
    shares = [Share(1 / silhouette.classes, _SILHOUETTE_ERROR / silhouette.classes)]
    parts = [silhouette]
    found = share_of_a_class(points, classes, seed)
    if found is not None:
        parts.append(found.estimate(n_known, bound, "neighbours"))
        shares.append(Share(found.value, float(np.hypot(found.error, _SIZES_DIFFER * found.value))))
    weights = np.array([share.error**-2 for share in shares])
    value = float(weights @ [share.value for share in shares] / weights.sum())
    return Share(value, float(weights.sum() ** -0.5)).estimate(max(n_known, 1), bound, "combined", tuple(parts))


def _bound(points: NDArray[np.float32], n_known: int, most: int | None) -> int:
    return max(n_known, min(most or MOST_CLASSES, len(points)))


def _check(approach: str, classes: NDArray[np.int64], n_known: int, most: int | None) -> None:
    check_approach(approach)
    if (classes >= 0).all():
        raise UserError(f"every image is labelled: there are {n_known} classes, and no image for a new one")
    if most is not None and most < max(n_known, 2):
        raise UserError(
            f"at most {most} classes were asked for, but {n_known} are known; expected at least 2 and those"
        )
