"""A look at the features in which labelled images of one class differ as much in every direction."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from legogcd.allocator import give_back
from legogcd.bricks.shared.precision import at_least_float32
from legogcd.clustering import directions
from legogcd.clustering.group_sums import group_sums

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
            around = F.normalize(features, dim=-1).sub_(self.origin.to(features.dtype))
            return around @ self.map.to(features.dtype)

    def fit(
        self, features: np.ndarray, labels: np.ndarray, rows: np.ndarray | None = None, used: int | None = None
    ) -> np.ndarray:
        """Find the map from features [N, D] and the labels [N] they have (-1: none).

        Returns what `find_axes` does, of all of them or of some ``rows``. Where only some dimensions are to be
        ``used``, all that lie behind them are 0 for every image, and it is as if there were none.
        """
        labelled = labels >= 0
        projected = self.find_axes(features)[:, :used]
        wanted, known = projected if rows is None else projected[rows], projected[labelled]
        del projected
        give_back()  # what follows needs the room
        whitened = self.map[:, :used].double().cpu() @ torch.from_numpy(within_classes(known, labels[labelled]))
        self.map.zero_()[:, :used] = whitened.to(self.map)
        return wanted

    def find_axes(self, features: np.ndarray) -> np.ndarray:
        """Map the features [N, D] to their principal axes, all lengths as they are; return them there [N, out]."""
        self._point_along(directions(features))
        return self.of(features)

    def _point_along(self, points: np.ndarray) -> None:
        """Make the map that of the principal axes of some points of length 1 [N, D]."""
        origin = points.mean(axis=0, dtype=np.float64)
        self.origin.copy_(torch.from_numpy(origin))
        self.map.copy_(torch.from_numpy(principal_axes(points, origin)[:, : self.out].copy()))

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


def within_classes(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """`equalizing` of labelled points [L, d] around the means of their classes; labels [L] are all given."""
    return equalizing(around_class_means(points, labels))


def around_class_means(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Each labelled point minus the mean of its class [L, d], in double precision."""
    classes, index, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    means, away = group_sums(points, index, len(classes)) / sizes[:, None], points.astype(np.float64)
    for begin in range(0, len(away), _CHUNK):
        away[begin : begin + _CHUNK] -= means[index[begin : begin + _CHUNK]]
    return away


def equalizing(points: np.ndarray) -> np.ndarray:
    """A map [d, d] after which the points, whose mean is 0, spread as much in every direction.

    None (the identity) where they do not spread at all: no class has two different labelled images.
    """
    from sklearn.covariance import ledoit_wolf

    if np.abs(points).max(initial=0.0) < 1e-6:
        return np.eye(points.shape[1])
    variances, axes = np.linalg.eigh(ledoit_wolf(points, assume_centered=True)[0])
    return np.asarray(axes / np.sqrt(np.maximum(variances / variances[-1], 1e-6)))
