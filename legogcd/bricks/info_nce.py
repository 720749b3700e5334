"""InfoNCE: two views of an image attract, all other views repel."""

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.cosines import pairwise_cosines
from legogcd.bricks.shared.two_views import TwoViews


def info_nce(cosines: Tensor, temperature: float) -> Tensor:
    """InfoNCE of [2B, 2B] cosines in which rows i and i + B show the same image."""
    itself = torch.eye(len(cosines), dtype=torch.bool, device=cosines.device)
    log_p = torch.log_softmax((cosines / temperature).masked_fill(itself, -torch.inf), dim=1)  # [2B, 2B]
    images = len(cosines) // 2
    partners = torch.cat([log_p.diagonal(images), log_p.diagonal(-images)])  # [2B]
    return -partners.mean()


class InfoNCE(Brick):
    """Unsupervised contrast of the L2-normalized projections u, over all 2B views.

    ``mean_i −log( exp(u_i·u_i'/τ) / Σ_{j≠i} exp(u_i·u_j/τ) )``, where i' is the other view of i's image.

    Args:
        temperature: τ.

    Reads ``projections`` [2, B, P]. ``selected``: all views.

    >>> views = TwoViews(torch.eye(4).repeat(2, 1, 1), torch.zeros(2, 4, 3), torch.full((4,), -1), n_known=2, epoch=0)
    >>> InfoNCE(temperature=1.0)(views)  # four orthogonal pairs: log(1 + 6/e)
    tensor(1.1654)
    """

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        return info_nce(pairwise_cosines(views.raw_projections()), self.temperature)
