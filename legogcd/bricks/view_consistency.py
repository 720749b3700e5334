"""View consistency: the two views of an image should get the same probabilities."""

import math

from torch import Tensor

from legogcd.bricks.shared.arguments import positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.two_views import TwoViews


def sigmoid_ramp(epoch: float, ramp_epochs: float) -> float:
    """exp(−5·(1 − t)²) with t = epoch/ramp_epochs, at most 1: a weight's slow start; 1 where there is no ramp.

    >>> [round(sigmoid_ramp(epoch, 150), 4) for epoch in (0, 75, 150, 199)]
    [0.0067, 0.2865, 1.0, 1.0]
    """
    if epoch >= ramp_epochs:
        return 1.0
    return math.exp(-5 * (1 - max(epoch, 0) / ramp_epochs) ** 2)


class ViewConsistency(Brick):
    """Squared difference between the predictions p = softmax(z/τ) and p' of an image's two views.

    ``2·mean_ik (p_ik − p'_ik)²`` over images i and classes k, gradient through both. The two is from RankStats, which
    takes the term of its two heads; with one head for all classes it is the same term twice.

    Han et al., "Automatically discovering and learning new visual categories with ranking statistics", ICLR 2020.

    Args:
        temperature: τ.

    Reads ``logits`` [2, B, K]. ``selected``: all views.

    >>> import torch
    >>> logits = torch.tensor([[[9e9, 0.0]], [[0.0, 9e9]]])  # p = (1, 0) and (0, 1)
    >>> ViewConsistency()(TwoViews(torch.zeros(2, 1, 8), logits, torch.tensor([-1]), n_known=1, epoch=0))
    tensor(2.)
    """

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        first, second = views.log_probabilities(self.temperature).exp().unbind()  # [B, K]
        return 2 * (first - second).square().mean()
