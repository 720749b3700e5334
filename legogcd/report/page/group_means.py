"""The middle of each group; and the direction of a feature, which is all that the page compares."""

import numpy as np

from legogcd.clustering import directions
from legogcd.clustering.group_sums import group_sums

__all__ = ["directions", "mean_features"]


def mean_features(features: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
    """The mean [G, D] of the features [N, D] of each group; zero where a group has none.

    >>> mean_features(np.array([[1.0, 0.0], [0.0, 1.0], [4.0, 2.0]]), np.array([0, 0, 1]), 2).tolist()
    [[0.5, 0.5], [4.0, 2.0]]
    """
    sums = group_sums(features, group, n_groups)
    means: np.ndarray = sums / np.maximum(np.bincount(group, minlength=n_groups), 1)[:, None]
    return means
