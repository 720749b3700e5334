"""RankStats: images whose features rank the same dimensions highest should get the same class, others not."""

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import count, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.pairs import pairing_features, same_top
from legogcd.bricks.shared.two_views import TwoViews

LEAST_LIKELY = 1e-7  # below this a probability is not told from 0 in float32, and its logarithm stays where it is


def pairwise_bce(log_p: Tensor, same: Tensor, pairs: Tensor) -> Tensor:
    """Mean over ``pairs`` of BCE(⟨p_i, p'_j⟩, same_ij); log_p [2, B, K], same and pairs [B, B]. 0 without pairs."""
    first, second = log_p.exp().unbind()  # [B, K]
    with torch.autocast(log_p.device.type, enabled=False):  # autocast would multiply in half precision
        together = first @ second.T  # [B, B], the probability that both show one class
    likelihood = torch.where(same, together, 1 - together).clamp(LEAST_LIKELY, 1)  # [B, B]
    return torch.where(pairs, -likelihood.log(), 0).sum() / pairs.sum().clamp_min(1)


class RankStatistics(Brick):
    """Pairwise binary cross entropy of the unlabelled images, with rank statistics of their features as the target.

    ``mean_ij [ −s_ij·log ⟨p_i, p'_j⟩ − (1 − s_ij)·log(1 − ⟨p_i, p'_j⟩) ]`` over all pairs of unlabelled images (each
    with itself too), where p is the first view's softmax(z/τ), p' the second view's, and s_ij = 1 where the ``top``
    largest dimensions of the first views' features are the same for i and j. 0 where all images are labelled.

    Han et al., "Automatically discovering and learning new visual categories with ranking statistics", ICLR 2020.

    Args:
        top: how many of the largest dimensions have to agree.
        temperature: τ.

    Reads ``logits`` [2, B, K], ``features`` [2, B, D] and ``labels`` [B]. ``selected``: the unlabelled views.

    >>> features = torch.tensor([[4.0, 3.0, 0.0], [3.0, 4.0, 0.0], [0.0, 3.0, 4.0]]).repeat(2, 1, 1)
    >>> views = TwoViews(
    ...     torch.zeros(2, 3, 8), torch.zeros(2, 3, 2), torch.full((3,), -1), n_known=1, epoch=0, features=features
    ... )
    >>> RankStatistics(top=2)(views)  # log 2: two even classes, so each pair is as likely together as apart
    tensor(0.6931)
    """

    def __init__(self, top: int = 5, temperature: float = 1.0) -> None:
        super().__init__()
        self.top = count("top", top, at_least=1)
        self.temperature = positive("temperature", temperature)

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = ~views.labelled_views
        unlabelled = self.selected[0]  # [B]
        log_p = views.log_probabilities(self.temperature)  # [2, B, K]
        same = same_top(pairing_features(views), self.top)  # [B, B]
        return pairwise_bce(log_p, same, unlabelled & unlabelled[:, None])
