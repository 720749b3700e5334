"""Class-wise distributions: what a class's images are taken for should be that class, and the same in both views."""

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.two_views import TwoViews


def class_distributions(log_p: Tensor) -> Tensor:
    """Each class's mean prediction, an image counting as far as it is taken for the class: log p [B, K] → m [K, K]."""
    shares = (log_p - log_p.detach().amax(dim=0)).exp()  # [B, K]: p over its largest, so that no class underflows
    with torch.autocast(log_p.device.type, enabled=False):  # autocast would multiply in half precision
        sums = shares.T @ log_p.exp()  # [K, K]
    return sums / shares.sum(dim=0)[:, None]


class ClassDistributions(Brick):
    """How unlike the classes' distributions among the first views are to those among the second, each class alike.

    ``−mean_k log ⟨m_k, m'_k⟩`` with ``m_k = Σ_i p_ik·p_i / Σ_i p_ik`` over the images i, where p is the first view's
    softmax(z/τ), and m' the same of the second views. 0 where every view is sure of its class and every class has some
    first and second views, of whichever images. An inner product below the least normal number counts as that number.

    After Liu et al., "Generalized category discovery via reciprocal learning and class-wise distribution
    regularization", ICML 2025.

    Args:
        temperature: τ.

    Reads ``logits`` [2, B, K]. ``selected``: all views.

    >>> views = TwoViews(torch.zeros(2, 3, 8), torch.zeros(2, 3, 4), torch.full((3,), -1), n_known=2, epoch=0)
    >>> ClassDistributions()(views)  # log 4
    tensor(1.3863)
    """

    def __init__(self, temperature: float = 0.1) -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        log_p, log_other = views.log_probabilities(self.temperature).unbind()  # [B, K]
        together = (class_distributions(log_p) * class_distributions(log_other)).sum(dim=-1)  # [K]
        return -together.clamp_min(torch.finfo(together.dtype).tiny).log().mean()
