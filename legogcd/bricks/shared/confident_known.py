"""Which unlabelled views the model is sure show a known class."""

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import fraction, positive
from legogcd.bricks.shared.two_views import TwoViews


@torch.no_grad()
def confident_known(views: TwoViews, threshold: float, temperature: float = 0.1) -> Tensor:
    """The mask o: views of unlabelled images with max softmax(z/τs) ≥ δ whose arg max is an Old class.

    Args:
        views: reads ``logits`` [2, B, K], ``labels`` [B] and ``n_known``.
        threshold: δ, from 0 to 1.
        temperature: τs.

    Returns:
        [2, B], boolean, without gradient.

    >>> logits = torch.tensor([[[0.9, 0.1, 0.1], [0.1, 0.1, 0.9]], [[0.3, 0.2, 0.3], [0.1, 0.9, 0.1]]])
    >>> views = TwoViews(torch.zeros(2, 2, 8), logits, torch.tensor([-1, -1]), n_known=2, epoch=0)
    >>> confident_known(views, threshold=0.7)  # sure and Old; sure but New / not sure; sure and Old
    tensor([[ True, False],
            [False,  True]])
    """
    p = views.log_probabilities(positive("temperature", temperature)).exp()  # [2, B, K]
    confidence, category = p.max(dim=-1)  # [2, B] each
    sure = confidence >= fraction("threshold", threshold)
    return ~views.labelled & sure & (category < views.n_known)
