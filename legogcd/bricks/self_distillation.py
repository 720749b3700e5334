"""Self-distillation: each view learns the other view's sharper prediction."""

import math
from typing import Literal

from torch import Tensor

from legogcd.bricks.shared.arguments import count, one_of, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.two_views import TwoViews
from legogcd.errors import UserError


class SelfDistillation(Brick):
    """Cross entropy of one view's prediction against the other view's sharpened, detached one.

    ``½ mean_i [ CE(q_i', p_i) + CE(q_i, p_i') ]`` over the images i with views i and i', where p = softmax(z/τs) is the
    student and q = softmax(z/τt), detached, the teacher; CE(q, p) = −Σ_k q_k log p_k.

    Args:
        student_temperature: τs.
        teacher_temperatures: τt at the first epoch and from the end of the warm-up on.
        warmup_epochs: how many epochs the way from one to the other takes.
        warmup: ``"linear"``, or ``"cosine"`` (half a cosine between the same ends).

    Reads ``logits`` [2, B, K] and ``epoch``. ``selected``: all views.

    >>> import torch
    >>> brick = SelfDistillation()
    >>> [round(brick.teacher_temperature(epoch), 4) for epoch in (0, 1, 29, 199)]
    [0.07, 0.069, 0.04, 0.04]
    >>> views = TwoViews(torch.zeros(2, 3, 8), torch.zeros(2, 3, 4), torch.full((3,), -1), n_known=2, epoch=0)
    >>> brick(views)  # log 4
    tensor(1.3863)
    """

    def __init__(
        self,
        student_temperature: float = 0.1,
        teacher_temperatures: tuple[float, float] = (0.07, 0.04),
        warmup_epochs: int = 30,
        warmup: Literal["linear", "cosine"] = "linear",
    ) -> None:
        super().__init__()
        if not isinstance(teacher_temperatures, tuple | list) or len(teacher_temperatures) != 2:
            raise UserError(f"teacher_temperatures is {teacher_temperatures!r}; give a pair (first, last).")
        first, last = (positive("a teacher temperature", temperature) for temperature in teacher_temperatures)
        self.student_temperature = positive("student_temperature", student_temperature)
        self.teacher_temperatures = (first, last)
        self.warmup_epochs = count("warmup_epochs", warmup_epochs, at_least=0)
        self.warmup = one_of("warmup", warmup, ("linear", "cosine"))

    def teacher_temperature(self, epoch: int) -> float:
        """τt at ``epoch`` (from 0): the first at epoch 0, the last from epoch ``warmup_epochs - 1`` on.

        A warm-up of one epoch has the first temperature at epoch 0 and the last from epoch 1 on; one of none has the
        last throughout.
        """
        first, last = self.teacher_temperatures
        if epoch >= self.warmup_epochs:
            return last
        progress = epoch / max(self.warmup_epochs - 1, 1)
        if self.warmup == "cosine":
            progress = (1 - math.cos(math.pi * progress)) / 2
        return (1 - progress) * first + progress * last

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        student = views.log_probabilities(self.student_temperature)  # [2, B, K]
        temperature = self.teacher_temperature(views.epoch)
        teacher = views.log_probabilities(temperature).detach().exp()  # [2, B, K]
        return -(teacher.flip(0) * student).sum(dim=-1).mean()  # flip: each view faces the other view's teacher
