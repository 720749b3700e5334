"""Supervised cross entropy of the labelled views."""

from typing import get_args

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import one_of, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.two_views import Seen, TwoViews


class SupervisedCE(Brick):
    """Cross entropy of the labelled images, both views or the first.

    ``mean_i −log softmax(z_i/τs)[y_i]`` over the labelled views i; 0 where no image is labelled.

    Args:
        temperature: τs.
        seen: ``both`` views of an image, or the ``first``.

    Reads ``logits`` [2, B, K] and ``labels`` [B]. ``selected``: the labelled views.

    >>> views = TwoViews(torch.zeros(2, 3, 8), torch.zeros(2, 3, 4), torch.tensor([0, 1, -1]), n_known=2, epoch=0)
    >>> SupervisedCE()(views)  # log 4
    tensor(1.3863)
    """

    def __init__(self, temperature: float = 0.1, seen: Seen = "both") -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)
        self.seen = one_of("seen", seen, get_args(Seen))

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.labelled_views & views.views_of(self.seen)
        log_p = views.log_probabilities(self.temperature)  # [2, B, K]
        targets = views.labels.long().clamp_min(0).repeat(2, 1)[..., None]  # [2, B, 1], any class where unlabelled
        per_view = -log_p.gather(-1, targets)[..., 0]  # [2, B]
        return torch.where(self.selected, per_view, 0).sum() / self.selected.sum().clamp_min(1)
