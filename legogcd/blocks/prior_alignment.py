"""Prior alignment: over a batch, each class should be used as often as it has been found to occur."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from legogcd.blocks.arguments import fraction, positive
from legogcd.blocks.brick import Brick
from legogcd.blocks.running_mean import RunningMean, log_mean_prediction, uniform_over_classes
from legogcd.blocks.two_views import TwoViews


def kl_of_mean(log_p: Tensor, prior: Tensor) -> Tensor:
    """KL( p̄ ‖ π ), with p̄ the mean of the distributions whose logarithms are the rows of [N, K], and π [K]."""
    log_mean = torch.logsumexp(log_p, dim=0) - math.log(len(log_p))  # [K], finite where p̄ underflows to 0
    return (log_mean.exp() * (log_mean - log_mean_prediction(prior))).sum()


class PriorAlignment(Brick):
    """How far the mean prediction is from the classes' estimated shares; takes the place of ``MeanEntropy``.

    ``KL(p̄ ‖ π)``, with p̄ the mean over all 2B views of softmax(z/τs) and the prior π = (1 − u)·m + u/K, without
    gradient. m is a running mean over all views of what they are taken for: the one-hot label where the image has one,
    the sharpened prediction softmax(z/τp) where not. With u = 1 it is log K − H(p̄), the mean entropy.

    A batch that holds labelled images more often than the collection does uses known classes more often, rightly so;
    π learns that, where the mean entropy punishes it. The uniform part keeps a class that is hardly used in reach:
    without it π would follow a collapse.

    m starts uniform and is updated after use, in training mode only. It is the buffer ``shares.mean`` [K].

    Args:
        temperature: τs.
        prior_temperature: τp.
        uniform_share: u, from 0 to 1.
        momentum: how much of m an update keeps.

    Reads ``logits`` [2, B, K] and ``labels`` [B]. ``selected``: all views.

    >>> logits = torch.eye(4)[[0, 0, 1, 2]].repeat(2, 1, 1)
    >>> views = TwoViews(torch.zeros(2, 4, 8), logits, torch.full((4,), -1), n_known=2, epoch=0)
    >>> brick = PriorAlignment(momentum=0.0)
    >>> brick(views), brick(views)  # class 0 twice, class 3 never: less surprising once it was seen
    (tensor(0.3461), tensor(0.1434))
    """

    def __init__(
        self,
        temperature: float = 0.1,
        prior_temperature: float = 0.05,
        uniform_share: float = 0.5,
        momentum: float = 0.99,
    ) -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)
        self.prior_temperature = positive("prior_temperature", prior_temperature)
        self.uniform_share = fraction("uniform_share", uniform_share)
        self.shares = RunningMean(momentum)

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        log_p = views.log_probabilities(self.temperature)  # [2, B, K]
        uniform = uniform_over_classes(log_p)  # [K]
        shares = self.shares.current(uniform)
        term = kl_of_mean(log_p.flatten(0, 1), torch.lerp(shares, uniform, self.uniform_share))
        self.shares.update(shares, self._taken_for(views).mean(dim=(0, 1)))
        return term

    @torch.no_grad()
    def _taken_for(self, views: TwoViews) -> Tensor:
        sharpened = views.log_probabilities(self.prior_temperature).exp()  # [2, B, K]
        one_hot = F.one_hot(views.labels.long().clamp_min(0), sharpened.shape[-1]).to(sharpened)  # [B, K]
        return torch.where(views.labelled[:, None], one_hot, sharpened)
