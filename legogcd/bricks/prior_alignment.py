"""Prior alignment: over a batch, each class should be used as often as it has been found to occur."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from legogcd.bricks.shared.arguments import fraction, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.running_mean import RunningMean, log_mean_prediction, uniform_over_classes
from legogcd.bricks.shared.two_views import TwoViews


def kl_of_mean(log_p: Tensor, prior: Tensor) -> Tensor:
    """KL( p̄ ‖ π ), with p̄ the mean of the distributions whose logarithms are the rows of [N, K], and π [K]."""
    log_mean = torch.logsumexp(log_p, dim=0) - math.log(len(log_p))  # [K], finite where p̄ underflows to 0
    return (log_mean.exp() * (log_mean - log_mean_prediction(prior))).sum()


class PriorAlignment(Brick):
    """How far the mean prediction is from the classes' estimated shares; takes the place of ``MeanEntropy``.

    ``KL(p̄ ‖ π)``, with p̄ the mean over all 2B views of softmax(z/τs) and the prior π = (1 − u)·m + u·e, without
    gradient. m is a running mean over all views of what they are taken for: the one-hot label where the image has one,
    the sharpened prediction softmax(z/τp) where not. e is what was to be expected before anything was learned: each
    class as often as the next, 1/K. With u = 1 the term is then log K − H(p̄), the mean entropy.

    A batch that holds labelled images more often than the collection does uses known classes more often, rightly so;
    m learns that, where the mean entropy punishes it. e keeps a class that is hardly used in reach: without it π would
    follow a collapse.

    Where few images of known classes are labelled, or new classes are rare, 1/K is far from the truth: most of the
    unlabelled images are then of known classes. `expect` tells the brick so, and e becomes
    ``(1 − w)·(labels of the batch, and for each unlabelled image s/K_known or (1 − s)/K_new) + w/K``; w is twice the
    share of the known classes' images that are labelled, at most 1. Many labels pull unlabelled images to known classes
    by themselves, and the even prior holds against it; few do not.

    m starts at e and is updated after use, in training mode only. Buffers: ``shares.mean`` [K] is m,
    ``expectation.mean`` [2] holds s and w, if they were told.

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
        self.expectation = RunningMean(momentum=1.0)

    def expect(self, known_share: float, labelled: float) -> None:
        """Say which share of the unlabelled images is of known classes, and which of the known ones' is labelled."""
        even = min(1.0, 2 * fraction("labelled", labelled))
        self.expectation.mean = torch.tensor([fraction("known_share", known_share), even])

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        log_p = views.log_probabilities(self.temperature)  # [2, B, K]
        expected = self._expected(views, uniform_over_classes(log_p))  # [K]
        shares = self.shares.current(expected)
        term = kl_of_mean(log_p.flatten(0, 1), torch.lerp(shares, expected, self.uniform_share))
        self.shares.update(shares, self._taken_for(views).mean(dim=(0, 1)))
        return term

    def _expected(self, views: TwoViews, uniform: Tensor) -> Tensor:
        """e [K] for this batch."""
        share, even = self.expectation.current(uniform.new_tensor([0.0, 1.0]))
        k, n_known = len(uniform), views.n_known
        per_known, per_new = share / max(n_known, 1), (1 - share) / max(k - n_known, 1)
        unlabelled = torch.where(torch.arange(k, device=uniform.device) < n_known, per_known, per_new)
        counted = torch.where(views.labelled[:, None], self._one_hot(views, k).to(uniform), unlabelled).mean(dim=0)
        return torch.lerp(counted, uniform, even)

    @torch.no_grad()
    def _taken_for(self, views: TwoViews) -> Tensor:
        sharpened = views.log_probabilities(self.prior_temperature).exp()  # [2, B, K]
        one_hot = self._one_hot(views, sharpened.shape[-1]).to(sharpened)
        return torch.where(views.labelled[:, None], one_hot, sharpened)

    @staticmethod
    def _one_hot(views: TwoViews, k: int) -> Tensor:
        """[B, K], meaningless where there is no label."""
        return F.one_hot(views.labels.long().clamp_min(0), k)
