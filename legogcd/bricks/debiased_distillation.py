"""Debiased distillation: the teacher is corrected for the classes it names too often."""

from typing import Literal

import torch
from torch import Tensor

from legogcd.bricks.self_distillation import SelfDistillation
from legogcd.bricks.shared.arguments import not_negative, one_of
from legogcd.bricks.shared.running_mean import RunningMean, log_mean_prediction, mean_of_images, uniform_over_classes
from legogcd.bricks.shared.two_views import TwoViews


def spread_within_groups(usage: Tensor, n_known: int) -> Tensor:
    """Each class's share [K] as the mean share of its group, the known classes or the new ones.

    >>> spread_within_groups(torch.tensor([0.5, 0.2, 0.2, 0.1, 0.0]), n_known=2)
    tensor([0.3500, 0.3500, 0.1000, 0.1000, 0.1000])
    """
    groups = usage[:n_known], usage[n_known:]
    return torch.cat([group.sum().expand(len(group)) / max(len(group), 1) for group in groups])


class DebiasedDistillation(SelfDistillation):
    """Self-distillation whose teacher is adjusted by how often classes are predicted; for ``SelfDistillation``.

    ``½ mean_i [ CE(q_i', p_i) + CE(q_i, p_i') ]`` over the images i with views i and i', where p = softmax(z/τs) and,
    detached, q = softmax(z/τt − s·log p̃) for the unlabelled images, softmax(z/τt) for the labelled ones. p̃ is a running
    mean of p over the unlabelled views: what is predicted often has to be predicted more clearly to be taught. With
    s = 0, or while p̃ is uniform, it is self-distillation.

    * ``by="group"``: p̃ is evened out within the known classes and within the new ones. Only a bias of one group
      against the other is corrected, whatever the classes' sizes are;
    * ``by="class"``: each class has its own p̃.

    p̃ starts uniform and is updated after use, in training mode only. It is the buffer ``usage.mean`` [K].

    Menon et al., "Long-tail learning via logit adjustment", ICLR 2021, for labels; here for one's own predictions.

    Args:
        student_temperature: τs.
        teacher_temperatures: τt at the first epoch and from the end of the warm-up on.
        warmup_epochs: how many epochs the way from one to the other takes.
        warmup: ``"linear"``, or ``"cosine"`` (half a cosine between the same ends).
        strength: s.
        by: ``"group"`` or ``"class"``.
        momentum: how much of p̃ an update keeps.

    Reads ``logits`` [2, B, K], ``labels`` [B], ``n_known`` and ``epoch``. ``selected``: all views.

    >>> views = TwoViews(torch.zeros(2, 3, 8), torch.zeros(2, 3, 4), torch.full((3,), -1), n_known=2, epoch=0)
    >>> brick = DebiasedDistillation()
    >>> brick(views)  # log 4
    tensor(1.3863)
    >>> brick.usage.mean
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def __init__(
        self,
        student_temperature: float = 0.1,
        teacher_temperatures: tuple[float, float] = (0.07, 0.04),
        warmup_epochs: int = 30,
        warmup: Literal["linear", "cosine"] = "linear",
        strength: float = 0.4,
        by: Literal["group", "class"] = "group",
        momentum: float = 0.99,
    ) -> None:
        super().__init__(student_temperature, teacher_temperatures, warmup_epochs, warmup)
        self.strength = not_negative("strength", strength)
        self.by = one_of("by", by, ("group", "class"))
        self.usage = RunningMean(momentum)

    @torch.no_grad()
    def _teacher(self, views: TwoViews, temperature: float) -> Tensor:
        predicted = views.log_probabilities(self.student_temperature).exp()  # [2, B, K]
        usage, unlabelled = self.usage.current(uniform_over_classes(predicted)), ~views.labelled  # [K], [B]
        self.usage.update(usage, mean_of_images(predicted, unlabelled), seen=unlabelled.any())
        level = spread_within_groups(usage, views.n_known) if self.by == "group" else usage  # [K]
        shift = self.strength * log_mean_prediction(level) * unlabelled[:, None]  # [B, K]
        return torch.softmax(views.scaled_logits(temperature) - shift, dim=-1)
