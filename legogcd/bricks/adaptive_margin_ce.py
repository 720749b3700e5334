"""ORCA's supervised cross entropy: the less sure the model is of the unlabelled, the less it is pulled to the known."""

from dataclasses import replace

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import not_negative, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.two_views import Seen, TwoViews
from legogcd.bricks.supervised_ce import SupervisedCE


class AdaptiveMarginCE(Brick):
    """Cross entropy of the labelled images, both views or the first, with an uncertainty-adaptive margin.

    ``mean_i −log softmax( s·(z_i − m·e_{y_i}) )[y_i]`` over the labelled views i, with the margin m = −min(ū, m_max):
    it is negative, so the true class's cosine is *raised* and known classes learn more slowly while the mean
    uncertainty ū of the unlabelled images is high. 0 where no image is labelled.

    ū is the buffer ``uncertainty``, a scalar that is 0 (plain cross entropy) until the method sets it.

    Cao, Brbić, Leskovec, "Open-world semi-supervised learning", ICLR 2022.

    Args:
        scale: s.
        largest_margin: m_max.
        seen: ``both`` views of an image, or the ``first``.

    Reads ``logits`` [2, B, K] (cosines) and ``labels`` [B]. ``selected``: the labelled views.

    >>> brick = AdaptiveMarginCE(scale=10.0)
    >>> views = TwoViews(torch.zeros(2, 3, 8), torch.zeros(2, 3, 4), torch.tensor([0, 1, -1]), n_known=2, epoch=0)
    >>> brick(views)  # log 4
    tensor(1.3863)
    >>> _ = brick.uncertainty.fill_(0.2)
    >>> brick(views)  # log(1 + 3/e²)
    tensor(0.3408)
    """

    uncertainty: Tensor

    def __init__(self, scale: float = 10.0, largest_margin: float = 0.5, seen: Seen = "both") -> None:
        super().__init__()
        self.scale = positive("scale", scale)
        self.largest_margin = not_negative("largest_margin", largest_margin)
        self.cross_entropy = SupervisedCE(temperature=1 / self.scale, seen=seen)
        self.register_buffer("uncertainty", torch.zeros(()))

    def forward(self, views: TwoViews) -> Tensor:
        cosines = views.scaled_logits(1.0)  # [2, B, K]
        margin = -self.uncertainty.clamp(0, self.largest_margin).to(cosines)
        own_class = torch.arange(cosines.shape[-1], device=cosines.device) == views.labels[:, None]  # [B, K]
        term = self.cross_entropy(replace(views, logits=cosines - margin * own_class))
        self.selected = self.cross_entropy.selected
        return term
