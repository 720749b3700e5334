"""Consensus distillation: both views learn what they say together, less so where they disagree."""

import math
from typing import Literal

import torch
from torch import Tensor

from legogcd.bricks.self_distillation import SelfDistillation
from legogcd.bricks.shared.arguments import fraction
from legogcd.bricks.shared.two_views import TwoViews


def log_consensus(log_p: Tensor, sharpening: float) -> Tensor:
    """log of the mean prediction of an image's two views to the power ``sharpening``, rescaled: [2, B, K] → [B, K]."""
    log_mean = torch.logsumexp(log_p, dim=0) - math.log(2)  # [B, K]
    return torch.log_softmax(sharpening * log_mean, dim=-1)


class ConsensusDistillation(SelfDistillation):
    """Cross entropy of both views' predictions against their sharpened, detached mean; for ``SelfDistillation``.

    ``½ mean_i w_i·[ CE(q_i, p_i) + CE(q_i, p_i') ]`` over the images i with views i and i', where p = softmax(z/τs) and
    q_i ∝ (½(p_i + p_i'))^(τs/τt), detached; CE(q, p) = −Σ_k q_k log p_k. w_i = 1 where both views have the same arg
    max, w where not. Where the two views are the same, so are this term and self-distillation.

    Args:
        student_temperature: τs.
        teacher_temperatures: τt at the first epoch and from the end of the warm-up on.
        warmup_epochs: how many epochs the way from one to the other takes.
        warmup: ``"linear"``, or ``"cosine"`` (half a cosine between the same ends).
        disagreement_weight: w, from 0 to 1.

    Reads ``logits`` [2, B, K] and ``epoch``. ``selected``: the views of images with a weight above 0.

    >>> logits = torch.tensor([[[0.9, 0.1], [0.9, 0.1]], [[0.8, 0.1], [0.1, 0.8]]])  # the second image: a dispute
    >>> views = TwoViews(torch.zeros(2, 2, 8), logits, torch.tensor([-1, -1]), n_known=1, epoch=0)
    >>> brick = ConsensusDistillation(disagreement_weight=0.0)
    >>> brick(views) < 0.001
    tensor(True)
    >>> brick.selected
    tensor([[ True, False],
            [ True, False]])
    """

    def __init__(
        self,
        student_temperature: float = 0.1,
        teacher_temperatures: tuple[float, float] = (0.07, 0.04),
        warmup_epochs: int = 30,
        warmup: Literal["linear", "cosine"] = "linear",
        disagreement_weight: float = 0.5,
    ) -> None:
        super().__init__(student_temperature, teacher_temperatures, warmup_epochs, warmup)
        self.disagreement_weight = fraction("disagreement_weight", disagreement_weight)

    def forward(self, views: TwoViews) -> Tensor:
        log_p = views.log_probabilities(self.student_temperature)  # [2, B, K]
        sharpening = self.student_temperature / self.teacher_temperature(views.epoch)
        target = log_consensus(log_p.detach(), sharpening).exp()  # [B, K]
        category = log_p.argmax(dim=-1)  # [2, B]
        weights = log_p.new_ones(log_p.shape[1]).masked_fill(
            category[0] != category[1], self.disagreement_weight
        )  # [B]
        self.selected = (weights > 0).repeat(2, 1)
        return -(weights * (target * log_p).sum(dim=-1)).mean()
