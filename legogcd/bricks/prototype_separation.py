"""Prototype separation: the prototypes of different classes keep apart."""

import math

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.cosines import unit_vectors
from legogcd.bricks.shared.two_views import TwoViews


def crowding(prototypes: Tensor, temperature: float) -> Tensor:
    """mean_k log mean_{j≠k} exp(cos(c_k, c_j)/τ) of prototypes [K, D]; 0 for a single one."""
    k = len(prototypes)
    if k < 2:
        return (0 * prototypes).sum()
    directions = unit_vectors(prototypes)  # [K, D]
    with torch.autocast(prototypes.device.type, enabled=False):  # autocast would multiply in half precision
        cosines = directions @ directions.T  # [K, K]
    itself = torch.eye(k, dtype=torch.bool, device=cosines.device)
    log_sums = torch.logsumexp((cosines / temperature).masked_fill(itself, -torch.inf), dim=1)  # [K]
    return log_sums.mean() - math.log(k - 1)


class PrototypeSeparation(Brick):
    """How crowded the prototypes c are on the sphere: the nearer to each other, the more it costs.

    ``mean_k log( 1/(K−1)·Σ_{j≠k} exp(cos(c_k, c_j)/τ) )`` over the K prototypes: 0 where all are orthogonal, 1/τ where
    all are the same, below 0 where they point away from each other. The lower τ, the more the nearest one counts. 0
    for a single prototype.

    Ming et al., "How to exploit hyperspherical embeddings for out-of-distribution detection?", ICLR 2023.

    Args:
        temperature: τ.

    Reads ``prototypes`` [K, D]. ``selected``: no view; the term is about prototypes alone.

    >>> def views_with(prototypes):
    ...     labels = torch.tensor([-1, -1])
    ...     return TwoViews(torch.zeros(2, 2, 8), torch.zeros(2, 2, 3), labels, 1, 0, prototypes=prototypes)
    >>> PrototypeSeparation()(views_with(torch.eye(3))), PrototypeSeparation()(views_with(torch.ones(3, 3)))
    (tensor(0.), tensor(10.0000))
    """

    def __init__(self, temperature: float = 0.1) -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = ~views.all_views
        return crowding(views.raw_prototypes(), self.temperature)
