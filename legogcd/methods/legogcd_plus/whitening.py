"""A look at the features in which labelled images of one class differ as much in every direction."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from legogcd.bricks.shared.precision import at_least_float32
from legogcd.clustering import directions

_CHUNK = 4096  # rows in double precision at a time


class Whitening(nn.Module):
    """A linear map of the features' directions to ``out`` dimensions, found once, before training.

    ``x ↦ (x/‖x‖ − m)·P·S^(−½)``: m is the mean direction, P the leading principal axes of all images, S the covariance
    along them of labelled images around the mean of their class, with Ledoit and Wolf's shrinkage, so that few labelled
    images are enough. What images of one class differ by, such as pose and background, then counts for less than what
    tells classes apart; new classes gain by it too, because much of it is the same for all classes. (It is linear
    discriminant analysis up to where that would go on with the known classes' means alone.)

    ``origin`` [D] and ``map`` [D, out] are buffers. Until `fit`, the map drops all but the first ``out`` dimensions.

    >>> whitening = Whitening(dim=3, out=2)
    >>> whitening(torch.tensor([[3.0, 0.0, 4.0]]))
    tensor([[0.6000, 0.0000]])
    """

    origin: Tensor
    map: Tensor

    def __init__(self, dim: int, out: int) -> None:
        super().__init__()
        self.out = min(out, dim)
        self.register_buffer("origin", torch.zeros(dim))
        self.register_buffer("map", torch.eye(dim, self.out))

    def forward(self, features: Tensor) -> Tensor:
        """[..., D] -> [..., out]."""
        with torch.autocast(features.device.type, enabled=False):
            features = at_least_float32(features)
            return (F.normalize(features, dim=-1) - self.origin.to(features.dtype)) @ self.map.to(features.dtype)

    def fit(self, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Find the map from features [N, D] and the labels [N] they have (-1: none); return what `find_axes` does."""
        projected = self.find_axes(features)
        labelled = labels >= 0
        within = around_class_means(projected[labelled], labels[labelled])
        self.map.copy_(self.map.double().cpu() @ torch.from_numpy(equalizing(within)))
        return projected

    def find_axes(self, features: np.ndarray) -> np.ndarray:
        """Map the features [N, D] to their principal axes, all lengths as they are; return them there [N, out]."""
        points = directions(features)
        origin = points.mean(axis=0, dtype=np.float64)
        self.origin.copy_(torch.from_numpy(origin))
        self.map.copy_(torch.from_numpy(principal_axes(points, origin)[:, : self.out].copy()))
        return self.of(features)

    def of(self, features: np.ndarray) -> np.ndarray:
        """`forward` for arrays."""
        seen: np.ndarray = self(torch.from_numpy(features).to(self.map.device)).cpu().numpy()
        return seen


def principal_axes(points: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Axes [D, D] of the points' spread around ``origin``, the longest first."""
    scatter = np.zeros((points.shape[1], points.shape[1]))
    for begin in range(0, len(points), _CHUNK):
        away = points[begin : begin + _CHUNK] - origin  # double, as the origin is
        scatter += away.T @ away
    return np.asarray(np.linalg.eigh(scatter)[1][:, ::-1])


def around_class_means(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Each labelled point minus the mean of its class [L, d]."""
    classes, index, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    sums = np.zeros((len(classes), points.shape[1]))
    np.add.at(sums, index, points)
    return np.asarray(points - (sums / sizes[:, None])[index])


def equalizing(points: np.ndarray) -> np.ndarray:
    """A map [d, d] after which the points, whose mean is 0, spread as much in every direction.

    None (the identity) where they do not spread at all: no class has two different labelled images.
    """
    from sklearn.covariance import ledoit_wolf

    if np.abs(points).max(initial=0.0) < 1e-6:
        return np.eye(points.shape[1])
    variances, axes = np.linalg.eigh(ledoit_wolf(points, assume_centered=True)[0])
    return np.asarray(axes / np.sqrt(np.maximum(variances / variances[-1], 1e-6)))
