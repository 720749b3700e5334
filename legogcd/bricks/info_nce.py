"""InfoNCE: two views of an image attract, all other views repel."""

from typing import Literal, get_args

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import one_of, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.cosines import pairwise_cosines
from legogcd.bricks.shared.two_views import TwoViews

ContrastForm = Literal["released", "paper"]


def info_nce(cosines: Tensor, temperature: float) -> Tensor:
    """InfoNCE of [2B, 2B] cosines in which rows i and i + B show the same image."""
    itself = torch.eye(len(cosines), dtype=torch.bool, device=cosines.device)
    log_p = torch.log_softmax((cosines / temperature).masked_fill(itself, -torch.inf), dim=1)  # [2B, 2B]
    images = len(cosines) // 2
    partners = torch.cat([log_p.diagonal(images), log_p.diagonal(-images)])  # [2B]
    return -partners.mean()


def info_nce_across_views(cosines: Tensor, temperature: float) -> Tensor:
    """InfoNCE as printed: first views are the anchors, second views of other images repel; [2B, 2B] as above."""
    images = len(cosines) // 2
    across = cosines[:images, images:] / temperature  # [B, B], an image's own second view on the diagonal
    itself = torch.eye(images, dtype=torch.bool, device=cosines.device)
    if images == 1:
        return -across.mean()  # nothing to repel
    return (torch.logsumexp(across.masked_fill(itself, -torch.inf), dim=1) - across.diagonal()).mean()


class InfoNCE(Brick):
    """Unsupervised contrast of the L2-normalized projections u, over all 2B views.

    ``mean_i −log( exp(u_i·u_i'/τ) / Σ_{j≠i} exp(u_i·u_j/τ) )``, where i' is the other view of i's image.

    That is what the released code computes. As the paper prints it (``form="paper"``), i runs over the B first views,
    and what repels are the second views of the other images alone:
    ``mean_i −log( exp(u_i·u'_i/τ) / Σ_{n≠i} exp(u_i·u'_n/τ) )``. The attraction is not
    in the sum, so that this term has no lower bound of 0.

    Args:
        temperature: τ.
        form: ``released`` or ``paper``.

    Reads ``projections`` [2, B, P]. ``selected``: all views.

    >>> views = TwoViews(torch.eye(4).repeat(2, 1, 1), torch.zeros(2, 4, 3), torch.full((4,), -1), n_known=2, epoch=0)
    >>> InfoNCE(temperature=1.0)(views)  # four orthogonal pairs: log(1 + 6/e)
    tensor(1.1654)
    """

    def __init__(self, temperature: float = 1.0, form: ContrastForm = "released") -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)
        self.form = one_of("form", form, get_args(ContrastForm))

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        term = info_nce if self.form == "released" else info_nce_across_views
        return term(pairwise_cosines(views.raw_projections()), self.temperature)
