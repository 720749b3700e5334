"""DKL: the first view's prediction is held to the second's."""

from typing import Literal

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import one_of, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.two_views import TwoViews


def kl_to_other_view(log_p: Tensor, detach: bool = True) -> Tensor:
    """KL( p(view) ‖ p(other view) ), the other one detached or not, mean over images; log_p is [2, B, K] → [2]."""
    other = log_p.flip(0)  # [2, B, K]
    return (log_p.exp() * (log_p - (other.detach() if detach else other))).sum(dim=-1).mean(dim=-1)


def twice_softmaxed_kl(log_p: Tensor, detach: bool = False) -> Tensor:
    """Σ p₁·(log softmax(p₁) − log softmax(p₂)), mean over images; log_p is [2, B, K]."""
    p = log_p.exp()
    first, second = torch.log_softmax(p, dim=-1).unbind()  # [B, K]: a softmax of what are probabilities already
    return (p[0] * (first - (second.detach() if detach else second))).sum(dim=-1).mean()


class DualViewKL(Brick):
    """Dual-view KL constraint between the predictions p = softmax(z/τs) of an image's two views.

    ``form="paper"``: ``mean_i KL(p(x_i) ‖ p(x_i'))``, the second view detached.
    ``form="symmetric"``: ``½ mean_i [ KL(p(x_i) ‖ p(x_i')) + KL(p(x_i') ‖ p(x_i)) ]``, the second of each detached.
    ``form="released"``, as the released code computes it: ``mean_i Σ_k p_k·(log softmax(p)_k − log softmax(p')_k)``,
    softmax applied twice and nothing detached; it can be negative.

    Args:
        form: ``"paper"``, ``"symmetric"`` or ``"released"``.
        temperature: τs.
        detach: whether no gradient reaches a divergence's second argument; None: as the form says.

    Reads ``logits`` [2, B, K]. ``selected``: all views.

    >>> logits = torch.tensor([[[1.0, 1.0]], [[1.1, 1.0]]])  # p = (½, ½) and (0.731, 0.269)
    >>> views = TwoViews(torch.zeros(2, 1, 8), logits, torch.tensor([-1]), n_known=1, epoch=0)
    >>> DualViewKL(form="paper")(views), DualViewKL(form="symmetric")(views), DualViewKL(form="released")(views)
    (tensor(0.1201), tensor(0.1155), tensor(0.0265))
    """

    def __init__(
        self,
        form: Literal["paper", "symmetric", "released"] = "paper",
        temperature: float = 0.1,
        detach: bool | None = None,
    ) -> None:
        super().__init__()
        self.form = one_of("form", form, ("paper", "symmetric", "released"))
        self.temperature = positive("temperature", temperature)
        self.detach = form != "released" if detach is None else detach

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        log_p = views.log_probabilities(self.temperature)  # [2, B, K]
        if self.form == "released":
            return twice_softmaxed_kl(log_p, self.detach)
        both_ways = kl_to_other_view(log_p, self.detach)  # [2]
        return both_ways.mean() if self.form == "symmetric" else both_ways[0]
