"""ORCA's pairs: an image should get the class of its nearest neighbor, or of an image with its label."""

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.pairs import nearest_other, pairing_features, same_class_partner
from legogcd.bricks.shared.two_views import TwoViews


class NeighborPairs(Brick):
    """Pairwise binary cross entropy over pairs taken for positive.

    ``mean_i −log ⟨p_i, p'_j(i)⟩`` over all images i, where p is the first view's softmax(z/τ) and p' the second view's.
    j(i) is the image of the batch whose first view's feature is most similar (cosine) where i is unlabelled, and a
    random other image of i's class where i is labelled; i itself where there is none. The draw depends on ``index`` and
    ``epoch`` alone (:func:`~legogcd.bricks.shared.pairs.same_class_partner`).

    Cao, Brbić, Leskovec, "Open-world semi-supervised learning", ICLR 2022.

    Args:
        temperature: τ.

    Reads ``logits`` [2, B, K], ``features`` [2, B, D], ``labels`` [B], ``epoch`` and, if given, ``index`` [B].
    ``selected``: all views.

    >>> views = TwoViews(
    ...     torch.zeros(2, 3, 8), torch.zeros(2, 3, 4), torch.tensor([0, -1, -1]), n_known=2, epoch=0,
    ...     features=torch.ones(2, 3, 8),
    ... )
    >>> NeighborPairs()(views)  # log 4
    tensor(1.3863)
    """

    def __init__(self, temperature: float = 0.1) -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        log_p, log_other = views.log_probabilities(self.temperature).unbind()  # [B, K]
        neighbors = nearest_other(pairing_features(views), views.index)  # [B]
        partners = same_class_partner(views.labels, views.index, views.epoch)  # [B]
        chosen = torch.where(views.labelled, partners, neighbors)  # [B]
        # As logarithms: an inner product that underflows would have neither a value nor a gradient.
        return -torch.logsumexp(log_p + log_other[chosen], dim=-1).mean()
