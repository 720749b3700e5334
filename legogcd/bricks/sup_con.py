"""SupCon: labelled views of one class attract, labelled views of other classes repel."""

from typing import get_args

import torch
from torch import Tensor

from legogcd.bricks.info_nce import ContrastForm
from legogcd.bricks.shared.arguments import one_of, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.cosines import pairwise_cosines
from legogcd.bricks.shared.two_views import TwoViews


def supervised_contrast(cosines: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """SupCon of [2B, 2B] cosines in which rows i and i + B carry labels[i]; 0 where no label is given."""
    labels = labels.repeat(2)  # [2B]
    labelled = labels >= 0
    itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    others = labelled & ~itself  # [2B, 2B]
    same_class = (labels[:, None] == labels) & others  # [2B, 2B]
    # The lowest finite number, not -inf: a row of nothing else has to stay finite.
    log_p = torch.log_softmax((cosines / temperature).masked_fill(~others, torch.finfo(cosines.dtype).min), dim=1)
    per_anchor = -(log_p * same_class).sum(dim=1) / same_class.sum(dim=1).clamp_min(1)  # [2B], 0 where unlabelled
    return per_anchor.sum() / labelled.sum().clamp_min(1)


def supervised_contrast_across_views(cosines: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """SupCon as printed: labelled first views against the second views of other labelled images; [2B, 2B] as above.

    0 for an anchor that has no other image of its class, and where no label is given.
    """
    across = cosines[: len(labels), len(labels) :] / temperature  # [B, B]
    labelled = labels >= 0
    itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    others = labelled & ~itself  # [B, B]
    same_class = (labels[:, None] == labels) & others  # [B, B]
    log_p = torch.log_softmax(across.masked_fill(~others, torch.finfo(across.dtype).min), dim=1)
    per_anchor = -(log_p * same_class).sum(dim=1) / same_class.sum(dim=1).clamp_min(1)  # [B]
    return per_anchor.sum() / labelled.sum().clamp_min(1)


class SupCon(Brick):
    """Supervised contrast of the labelled images' L2-normalized projections u, both views.

    ``mean_i mean_{p∈P(i)} −log( exp(u_i·u_p/τ) / Σ_{j≠i} exp(u_i·u_j/τ) )`` over the labelled views i, where P(i) are
    the other views of i's class and j runs over all other labelled views. 0 where no image is labelled.

    That is what the released code computes. As the paper prints it (``form="paper"``), i runs over the labelled images'
    first views, and P(i) and j over the second views u' of the other labelled images.

    Args:
        temperature: τ.
        form: ``released`` or ``paper``.

    Reads ``projections`` [2, B, P] and ``labels`` [B]. ``selected``: the labelled views.

    >>> views = TwoViews(torch.ones(2, 3, 8), torch.zeros(2, 3, 4), torch.tensor([0, 1, -1]), n_known=2, epoch=0)
    >>> SupCon(temperature=0.07)(views)  # all alike, so each of the three others is as likely: log 3
    tensor(1.0986)
    """

    def __init__(self, temperature: float = 0.07, form: ContrastForm = "released") -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)
        self.form = one_of("form", form, get_args(ContrastForm))

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.labelled_views
        term = supervised_contrast if self.form == "released" else supervised_contrast_across_views
        return term(pairwise_cosines(views.raw_projections()), views.labels, self.temperature)
