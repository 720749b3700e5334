"""Neighbor consistency: an unlabelled view learns what its neighbors' other views are predicted to be."""

from typing import Literal

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import count, one_of, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.pairs import comparable_features, nearest_others
from legogcd.bricks.shared.two_views import TwoViews


def mean_of_neighbors(p: Tensor, near: Tensor) -> Tensor:
    """The mean of the rows of p [2, B, K] that near [2, B, B] marks; 0 where it marks none."""
    with torch.autocast(p.device.type, enabled=False):  # autocast would multiply in half precision
        return near.to(p) @ p / near.sum(dim=-1, keepdim=True).clamp_min(1)


class NeighborConsistency(Brick):
    """Cross entropy of unlabelled views against the detached mean prediction of their nearest neighbors.

    ``mean_i CE( 1/|N_i|·Σ_{j∈N_i} q_j, p_i )`` over the unlabelled views i, where p = softmax(z/τs) and q =
    softmax(z/τt), detached; CE(q, p) = −Σ_k q_k log p_k. N_i are the other images whose *other* view (the second one
    where i is a first one) is most similar to i by cosine. A copy of i's image, which ``index`` tells, is no neighbor;
    where a batch has fewer than ``neighbors`` others all of them are, and a view without any takes no part.

    A batch that holds labelled images more often than the collection does offers a new image too many known
    neighbors. Hence ``among="unlabelled"``, which are drawn as they are.

    Args:
        neighbors: how many neighbors a view has.
        among: which images may be neighbors, ``"unlabelled"`` or ``"all"``.
        space: where similarity is measured, ``"features"`` or ``"projections"``; it gets no gradient.
        temperature: τs.
        teacher_temperature: τt.

    Reads ``logits`` [2, B, K], ``features`` [2, B, D] or ``projections`` [2, B, P], ``labels`` [B] and, if given,
    ``index`` [B]. ``selected``: the unlabelled views with a neighbor.

    >>> features = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]).repeat(2, 1, 1)
    >>> logits = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]]).repeat(2, 1, 1)
    >>> views = TwoViews(torch.zeros(2, 3, 8), logits, torch.tensor([-1, -1, 0]), n_known=1, epoch=0, features=features)
    >>> NeighborConsistency(neighbors=1)(views)  # each finds the other, and they agree
    tensor(0.0003)
    """

    def __init__(
        self,
        neighbors: int = 3,
        among: Literal["unlabelled", "all"] = "unlabelled",
        space: Literal["features", "projections"] = "features",
        temperature: float = 0.1,
        teacher_temperature: float = 0.05,
    ) -> None:
        super().__init__()
        self.neighbors = count("neighbors", neighbors, at_least=1)
        self.among = one_of("among", among, ("unlabelled", "all"))
        self.space = one_of("space", space, ("features", "projections"))
        self.temperature = positive("temperature", temperature)
        self.teacher_temperature = positive("teacher_temperature", teacher_temperature)

    def forward(self, views: TwoViews) -> Tensor:
        log_p = views.log_probabilities(self.temperature)  # [2, B, K]
        near = self._neighbors(views)  # [2, B, B]
        self.selected = ~views.labelled & near.any(dim=-1)  # [2, B]
        teacher = views.log_probabilities(self.teacher_temperature).detach().exp()  # [2, B, K]
        target = mean_of_neighbors(teacher.flip(0), near)  # [2, B, K]; flip: neighbors are among the other views
        per_view = -(target * log_p).sum(dim=-1)  # [2, B]
        return torch.where(self.selected, per_view, 0).sum() / self.selected.sum().clamp_min(1)

    def _neighbors(self, views: TwoViews) -> Tensor:
        compared = comparable_features(views) if self.space == "features" else views.raw_projections()
        first, second = compared.unbind()  # [B, D]
        candidates = ~views.labelled if self.among == "unlabelled" else None  # [B]
        near = [
            nearest_others(view, other, self.neighbors, views.index, candidates)
            for view, other in ((first, second), (second, first))
        ]
        return torch.stack(near)
