"""Where a classifier can start from: the classes that k-means sees in the untrained features."""

import numpy as np
import torch
from torch import Tensor

from legogcd.methods.baselines.kmeans import directions, held_centers


def kmeans_centers(
    features: np.ndarray, labels: np.ndarray, n_classes: int, n_known: int, seed: int, known_share: float = 0.0
) -> Tensor:
    """A center a class [K, D] among the features' directions; classes 0..n_known−1 have labels, the others are -1.

    Known ones are the means of their labelled images, new ones lie where semi-supervised k-means finds groups when at
    least ``known_share`` of the unlabelled images have to be of known classes.

    >>> features = np.array([[3.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 5.0]])
    >>> kmeans_centers(features, np.array([-1, -1, 0, -1]), n_classes=2, n_known=1, seed=0)
    tensor([[0., 1.],
            [1., 0.]])
    """
    centers = held_centers(features, labels, n_classes, seed, known_share=known_share)  # [K, D]
    for known in range(n_known):
        centers[known] = directions(features[labels == known]).mean(axis=0)
    return torch.from_numpy(centers)
