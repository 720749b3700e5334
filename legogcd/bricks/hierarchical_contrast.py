"""Hierarchical contrast: views of one group attract, at several levels of groups of groups."""

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import count, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.collected import Collected
from legogcd.bricks.shared.cosines import pairwise_cosines
from legogcd.bricks.shared.two_views import TwoViews
from legogcd.bricks.sup_con import supervised_contrast
from legogcd.errors import UserError


class HierarchicalContrast(Brick):
    """Supervised contrast of all projections with groups for labels, the coarser the groups the less it counts.

    ``Σ_l 2^−l·SupCon(u, g_l) / Σ_l 2^−l`` over the levels l = 0, 1, …, with SupCon as in
    :class:`~legogcd.bricks.SupCon` and the groups g_l that the images of the whole collection form before the epoch:
    as many as there are classes at level 0, labelled images in theirs, half as many at level 1, and so on.

    After Rastegar et al., "SelEx: self-expertise in fine-grained generalized category discovery", ECCV 2024.

    Args:
        contrast_temperature: of the contrast.
        levels: how many.

    Reads ``projections`` [2, B, P] and ``index`` [B], and looks at the collection. ``selected``: all views.

    >>> brick = HierarchicalContrast(levels=2)
    >>> zeros, groups = torch.zeros(4, 8), torch.tensor([[0, 1, 2, 3], [0, 0, 1, 1]])
    >>> brick.look(Collected(zeros, zeros, torch.full((4,), -1), 4, 2, epoch=0, groups=lambda levels: groups))
    >>> views = TwoViews(
    ...     torch.ones(2, 3, 8), torch.zeros(2, 3, 4), torch.full((3,), -1), n_known=2, epoch=0,
    ...     index=torch.tensor([0, 1, 3]),
    ... )
    >>> brick(views)  # all alike, so each of the five others is as likely at either level: log 5
    tensor(1.6094)
    """

    looks = True
    groups: Tensor | None  # [levels, N]

    def __init__(self, contrast_temperature: float = 0.07, levels: int = 3) -> None:
        super().__init__()
        self.contrast_temperature = positive("contrast_temperature", contrast_temperature)
        self.levels = count("levels", levels, at_least=1)
        self.groups = None

    def look(self, collected: Collected) -> None:
        self.groups = collected.groups(self.levels)

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        cosines = pairwise_cosines(views.raw_projections())  # [2B, 2B]
        terms = [supervised_contrast(cosines, groups, self.contrast_temperature) for groups in self._groups_of(views)]
        weights = [2.0**-level for level in range(self.levels)]
        return torch.stack([w * term for w, term in zip(weights, terms, strict=True)]).sum() / sum(weights)

    def _groups_of(self, views: TwoViews) -> Tensor:
        """The groups of the batch's images: [levels, B]."""
        if self.groups is None:
            raise UserError("HierarchicalContrast has no groups yet; let it look at the collection before the epoch.")
        if views.index is None:
            raise UserError("index is missing; to tell the images' groups give their places in the collection as [B].")
        return self.groups[:, views.index]
