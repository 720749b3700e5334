"""What sits on the backbone's feature: SimGCD's projector and prototypes."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from legogcd.bricks.shared.precision import at_least_float32
from legogcd.bricks.shared.prototype_rows import START_LENGTH, random_rows


def build_projector(dim: int, hidden: int = 2048, out: int = 256) -> nn.Sequential:
    """MLP dim-hidden-hidden-out with GELU, no batch norm, truncated-normal start (std 0.02).

    >>> build_projector(8, hidden=16, out=4)(torch.zeros(3, 8)).shape
    torch.Size([3, 4])
    """
    layers = [nn.Linear(dim, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, out)]
    for layer in layers:
        nn.init.trunc_normal_(layer.weight, std=0.02)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.GELU(), layers[1], nn.GELU(), layers[2])


class Prototypes(nn.Module):
    """K directions; the logit of class k is the cosine between feature and prototype.

    The start is uniform in ±1/√dim. Only a prototype's direction counts, but its norm (about 0.58 at the
    start) sets how far a step of given size turns it. With ``renormalized`` ones the norm is 1: `renormalize` after
    every step sees to it, and the gradient is that of the plain inner product.
    """

    def __init__(self, dim: int, n_classes: int, renormalized: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(random_rows(n_classes, dim))  # [K, D]
        self.renormalized = renormalized
        if renormalized:
            self.renormalize()

    def forward(self, features: Tensor) -> Tensor:
        """[..., D] -> [..., K], each in [-1, 1]."""
        with torch.autocast(features.device.type, enabled=False):  # a cosine's third digit matters at τ = 0.04
            features = at_least_float32(features)
            rows = self.weight.to(features.dtype)
            return F.normalize(features, dim=-1) @ (rows if self.renormalized else F.normalize(rows, dim=-1)).T

    @torch.no_grad()
    def renormalize(self) -> None:
        """Bring every prototype to length 1."""
        self.weight.copy_(F.normalize(self.weight, dim=-1))

    @torch.no_grad()
    def start_at(self, directions: Tensor) -> None:
        """Take given directions [K, D], scaled to the norm a random start has."""
        self.weight.copy_(F.normalize(directions.to(self.weight), dim=-1) * START_LENGTH)
