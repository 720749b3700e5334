"""k-means and semi-supervised k-means on the untrained features: what every other method has to beat."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from legogcd.clustering import directions, kmeans, starts_for
from legogcd.methods.base import Method
from legogcd.methods.kmeans_start import held_centers
from legogcd.methods.recipes.kmeans import KMeansRecipe


class NearestCenter(Method):
    """Predicts the center nearest to a feature of length 1. ``centers`` [K, D] are found in `finish`.

    The confidence is softmax_k(−‖h − c_k‖²/2τ), τ = 0.1: for centers of length 1 that is a cosine classifier's.
    """

    predicts_while_training = False
    centers: Tensor

    def __init__(self, dim: int, n_classes: int) -> None:
        super().__init__()
        self.register_buffer("centers", torch.zeros(n_classes, dim))

    def logits(self, features: Tensor) -> Tensor:
        return -(torch.cdist(F.normalize(features.float(), dim=-1), self.centers) ** 2) / 2  # [N, K]

    def probabilities(self, features: Tensor) -> Tensor:
        return (self.logits(features) / 0.1).softmax(-1)


class KMeans(NearestCenter):
    """k-means of all features at length 1, the labels unseen; they only say which cluster takes which known name."""

    def __init__(self, dim: int, n_classes: int, n_known: int, recipe: KMeansRecipe) -> None:
        super().__init__(dim, n_classes)
        self.n_known, self.n_init = n_known, recipe.n_init

    def finish(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        points = directions(features)
        k = len(self.centers)
        found = kmeans(points, k, seed=seed, n_init=self.n_init or starts_for(len(points), k))
        order = known_first(found.labels, labels, k, self.n_known)
        self.centers.copy_(torch.from_numpy(found.centers[order]))


class SemiSupervisedKMeans(NearestCenter):
    """Semi-supervised k-means of all features at length 1: labelled images stay in their class."""

    def __init__(self, dim: int, n_classes: int, n_known: int, recipe: KMeansRecipe) -> None:
        super().__init__(dim, n_classes)
        self.n_known, self.n_init = n_known, recipe.n_init

    def finish(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        centers = held_centers(directions(features), labels, len(self.centers), self.n_known, seed, self.n_init)
        self.centers.copy_(torch.from_numpy(centers))


def known_first(clusters: np.ndarray, labels: np.ndarray, k: int, n_known: int) -> list[int]:
    """An order of the clusters in which the first ``n_known`` hold as many labelled images of their class as can be.

    >>> known_first(np.array([2, 2, 0, 1, 1]), np.array([0, 0, 1, -1, -1]), k=3, n_known=2)
    [2, 0, 1]
    """
    from scipy.optimize import linear_sum_assignment

    labelled = labels >= 0
    shared = np.zeros((n_known, k), dtype=np.int64)  # labelled images of each class in each cluster
    np.add.at(shared, (labels[labelled], clusters[labelled]), 1)
    chosen: Any = linear_sum_assignment(shared, maximize=True)[1]
    first = [int(cluster) for cluster in chosen]
    return [*first, *sorted(set(range(k)) - set(first))]
