"""A classifier by cosines before training: only directions count, but lengths set how far a step turns them."""

import math

import torch
from torch import Tensor

START_LENGTH = math.sqrt(1 / 3)  # expected of a row of uniform(±1/√D): D · (1/D)/3 under the root


def random_rows(count: int, dim: int) -> Tensor:
    """Rows [count, D] of uniform numbers in ±1/√D.

    >>> float(random_rows(3, dim=4).abs().max()) <= 0.5
    True
    """
    bound = 1 / math.sqrt(dim)
    return torch.empty(count, dim).uniform_(-bound, bound)
