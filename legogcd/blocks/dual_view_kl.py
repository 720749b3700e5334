"""DKL: the first view's prediction is held to the second's."""

from typing import Literal

import torch
from torch import Tensor

from legogcd.blocks.arguments import one_of, positive
from legogcd.blocks.brick import Brick
from legogcd.blocks.two_views import TwoViews


def kl_to_second_view(log_p: Tensor) -> Tensor:
    """KL( p(view 1) ‖ p(view 2) ), view 2 detached, mean over images; log_p is [2, B, K]."""
    first, second = log_p[0], log_p[1].detach()  # [B, K]
    return (first.exp() * (first - second)).sum(dim=-1).mean()


def twice_softmaxed_kl(log_p: Tensor) -> Tensor:
    """Σ p₁·(log softmax(p₁) − log softmax(p₂)), mean over images, nothing detached; log_p is [2, B, K]."""
    p = log_p.exp()
    first, second = torch.log_softmax(p, dim=-1).unbind()  # [B, K]: a softmax of what are probabilities already
    return (p[0] * (first - second)).sum(dim=-1).mean()


class DualViewKL(Brick):
    """Dual-view KL constraint between the predictions p = softmax(z/τs) of an image's two views.

    ``form="paper"``: ``mean_i KL(p(x_i) ‖ p(x_i'))``, the second view detached.
    ``form="released"``, as the released code computes it: ``mean_i Σ_k p_k·(log softmax(p)_k − log softmax(p')_k)``,
    softmax applied twice and nothing detached; it can be negative.

    Args:
        form: ``"paper"`` or ``"released"``.
        temperature: τs.

    Reads ``logits`` [2, B, K]. ``selected``: all views.

    >>> logits = torch.tensor([[[1.0, 1.0]], [[1.1, 1.0]]])  # p = (½, ½) and (0.731, 0.269)
    >>> views = TwoViews(torch.zeros(2, 1, 8), logits, torch.tensor([-1]), n_known=1, epoch=0)
    >>> DualViewKL(form="paper")(views), DualViewKL(form="released")(views)
    (tensor(0.1201), tensor(0.0265))
    """

    def __init__(self, form: Literal["paper", "released"] = "paper", temperature: float = 0.1) -> None:
        super().__init__()
        self.form = one_of("form", form, ("paper", "released"))
        self.temperature = positive("temperature", temperature)

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        log_p = views.log_probabilities(self.temperature)  # [2, B, K]
        return kl_to_second_view(log_p) if self.form == "paper" else twice_softmaxed_kl(log_p)
