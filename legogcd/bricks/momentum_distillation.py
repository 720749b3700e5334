"""Momentum distillation: each view learns what slowly moving prototypes say of the other view."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from legogcd.bricks.self_distillation import SelfDistillation
from legogcd.bricks.shared.pairs import comparable_features
from legogcd.bricks.shared.running_mean import RunningMean
from legogcd.bricks.shared.two_views import TwoViews


class MomentumDistillation(SelfDistillation):
    """Cross entropy of one view's prediction against the other's by a teacher of its own; for ``SelfDistillation``.

    ``½ mean_i [ CE(q_i', p_i) + CE(q_i, p_i') ]`` over the images i with views i and i', where p = softmax(z/τs) and
    q = softmax(z̄/τt), detached; CE(q, p) = −Σ_k q_k log p_k. z̄ are the cosines of the features to running means of the
    prototypes, so that a batch cannot change at once what it is taught. With momentum 0 it is self-distillation from
    the prototypes of the step before.

    The means start at the prototypes of the first step and are updated after use, in training mode only. They are the
    buffer ``teacher.mean`` [K, D].

    Tarvainen and Valpola, "Mean teachers are better role models", NeurIPS 2017; here of the classifier alone.

    Args:
        student_temperature: τs.
        teacher_temperatures: τt at the first epoch and from the end of the warm-up on.
        warmup_epochs: how many epochs the way from one to the other takes.
        warmup: ``"linear"``, or ``"cosine"`` (half a cosine between the same ends).
        momentum: how much of the means an update keeps.

    Reads ``logits`` [2, B, K], ``features`` [2, B, D], ``prototypes`` [K, D] and ``epoch``. ``selected``: all views.

    >>> features, prototypes = torch.tensor([[[1.0, 0.0]], [[0.8, 0.6]]]), torch.eye(2)
    >>> views = TwoViews(
    ...     torch.zeros(2, 1, 8), features @ prototypes.T, torch.tensor([-1]), n_known=1, epoch=0,
    ...     features=features, prototypes=prototypes,
    ... )
    >>> brick = MomentumDistillation(momentum=0.9)
    >>> torch.allclose(brick(views), SelfDistillation()(views))  # as long as nothing has moved
    True
    """

    def __init__(
        self,
        student_temperature: float = 0.1,
        teacher_temperatures: tuple[float, float] = (0.07, 0.04),
        warmup_epochs: int = 30,
        warmup: Literal["linear", "cosine"] = "linear",
        momentum: float = 0.99,
    ) -> None:
        super().__init__(student_temperature, teacher_temperatures, warmup_epochs, warmup)
        self.teacher = RunningMean(momentum)

    def _teacher(self, views: TwoViews, temperature: float) -> Tensor:
        latest = views.raw_prototypes().detach()
        prototypes = self.teacher.current(latest)  # [K, D]
        self.teacher.update(prototypes, latest)
        with torch.no_grad(), torch.autocast(latest.device.type, enabled=False):
            cosines = F.normalize(comparable_features(views), dim=-1) @ F.normalize(prototypes, dim=-1).T  # [2, B, K]
            return torch.softmax(cosines / temperature, dim=-1)
