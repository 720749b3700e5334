"""Where a classifier can start from: the classes that k-means sees in the untrained features."""

import numpy as np
import torch
from torch import Tensor

from legogcd.clustering import semi_supervised_kmeans, starts_for
from legogcd.clustering.kmeans.seeding import Draws
from legogcd.methods.labelled_means import labelled_means

_ENOUGH = 8  # labelled images whose mean is taken for the middle of their class


def kmeans_centers(
    units: np.ndarray,
    labels: np.ndarray,
    n_classes: int,
    n_known: int,
    seed: int,
    known_share: float = 0.0,
    exchange: bool = False,
) -> Tensor:
    """One center per class [K, D] among features of length 1 [N, D]; labels are classes 0..n_known−1, the others -1.

    Known ones are the means of their labelled images, new ones lie where semi-supervised k-means finds groups when at
    least ``known_share`` of the unlabelled images have to be of known classes; so do known ones without a label. One or
    two labelled images say what a class is called, not where its middle is: with fewer than eight, the fewer there are
    the more the center that k-means found around them counts.

    >>> units = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> kmeans_centers(units, np.array([-1, -1, 0, -1]), n_classes=2, n_known=1, seed=0)
    tensor([[0., 1.],
            [1., 0.]])
    """
    centers = held_centers(units, labels, n_classes, n_known, seed, known_share=known_share, exchange=exchange)
    return trusted_centers(centers, units, labels)


def trusted_centers(centers: np.ndarray, units: np.ndarray, labels: np.ndarray) -> Tensor:
    """Centers [K, D] with those of known classes moved to the means of their labelled images, the more these are."""
    labelled = labels >= 0
    present, counts = np.unique(labels[labelled], return_counts=True)
    means = labelled_means(units[labelled], labels[labelled], present)
    trust = np.minimum(1.0, counts / _ENOUGH)[:, None]
    centers[present] = trust * means + (1 - trust) * centers[present]
    return torch.from_numpy(centers)


def held_centers(
    units: np.ndarray,
    labels: np.ndarray,
    k: int,
    n_known: int,
    seed: int,
    n_init: int | None = None,
    known_share: float = 0.0,
    seeding: Draws = "greedy",
    exchange: bool = False,
) -> np.ndarray:
    """Centers [K, D] of semi-supervised k-means on features of length 1 [N, D], the ``n_known`` known classes first."""
    found = semi_supervised_kmeans(
        units,
        labels,
        k,
        seed=seed,
        n_init=n_init or starts_for(len(units), k),
        known_share=known_share,
        n_known=n_known,
        seeding=seeding,
        exchange=exchange,
    )
    return found.centers
