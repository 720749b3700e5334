"""Mean entropy: over a batch, all classes should be used."""

import math
from typing import get_args

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import one_of, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.two_views import Seen, TwoViews


def entropy_shortfall(log_p: Tensor) -> Tensor:
    """log K − H(p̄), with p̄ the mean of the distributions whose logarithms are the rows of [N, K]."""
    n, k = log_p.shape
    log_mean = torch.logsumexp(log_p, dim=0) - math.log(n)  # [K], finite where p̄ underflows to 0
    return math.log(k) + (log_mean.exp() * log_mean).sum()


class MeanEntropy(Brick):
    """How far the mean prediction is from using all K classes alike.

    ``log K − H(p̄)``, with p̄ the mean over all 2B views of softmax(z/τs); 0 where p̄ is uniform, log K where one class
    takes all. The weight ε is the recipe's.

    Args:
        temperature: τs.
        seen: whether p̄ is over ``both`` views of the images or over the ``first``.

    Reads ``logits`` [2, B, K]. ``selected``: the views p̄ is over.

    >>> one_class_each = torch.eye(4).repeat(2, 1, 1)
    >>> views = TwoViews(torch.zeros(2, 4, 8), one_class_each, torch.full((4,), -1), n_known=2, epoch=0)
    >>> MeanEntropy()(views).abs() < 1e-6
    tensor(True)
    """

    def __init__(self, temperature: float = 0.1, seen: Seen = "both") -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)
        self.seen = one_of("seen", seen, get_args(Seen))

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.views_of(self.seen)
        log_p = views.log_probabilities(self.temperature)  # [2, B, K]
        return entropy_shortfall(log_p.flatten(0, 1) if self.seen == "both" else log_p[0])
