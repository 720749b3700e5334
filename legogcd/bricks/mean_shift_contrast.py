"""Mean-shift contrast: two views of an image attract and all others repel, each moved towards its neighbors first."""

import torch
from torch import Tensor

from legogcd.bricks.info_nce import info_nce
from legogcd.bricks.shared.arguments import count, fraction, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.collected import Collected
from legogcd.bricks.shared.cosines import pairwise_cosines, unit_vectors
from legogcd.bricks.shared.precision import at_least_float32
from legogcd.bricks.shared.two_views import TwoViews
from legogcd.errors import UserError


@torch.no_grad()
def mean_of_nearest(directions: Tensor, kept: Tensor, index: Tensor, neighbors: int) -> Tensor:
    """The mean of each direction's most similar rows of ``kept`` [N, P], its own image's apart: [2, B, P] → [2, B, P].

    ``index`` [B] says which row is an image's own; ``neighbors`` are at least one and at most N − 1.
    """
    with torch.autocast(directions.device.type, enabled=False):
        cosines = directions @ kept.T  # [2, B, N]
    others = cosines.scatter(-1, index.long().repeat(2, 1)[..., None], -torch.inf)
    return kept[others.topk(neighbors).indices].mean(dim=2)


class MeanShiftContrast(Brick):
    """InfoNCE of projections that went one step of mean shift among the projections of the whole collection.

    :class:`~legogcd.bricks.InfoNCE` of ``(1 − α)·u_i + α·mean_{j∈N(i)} v_j``, where u are the views' L2-normalized
    projections, v those of all images before the epoch, and N(i) the most similar ones (cosine) of other images. The
    gradient is that of u alone. Where no other image was seen, nothing moves.

    After Choi, Kang, Cho, "Contrastive mean-shift learning for generalized category discovery", CVPR 2024.

    Args:
        contrast_temperature: of the contrast.
        shift: α, from 0 to 1.
        neighbors: how many there are in N(i); all others where the collection has fewer.

    Reads ``projections`` [2, B, P] and ``index`` [B], and looks at the collection: it keeps [N, P] numbers.
    ``selected``: all views.

    >>> brick, eye = MeanShiftContrast(shift=1.0, neighbors=1), torch.eye(4)
    >>> brick.look(Collected(eye, eye.repeat(2, 1), torch.full((8,), -1), 4, 2, epoch=0, groups=lambda levels: eye))
    >>> views = TwoViews(
    ...     eye.repeat(2, 1, 1), torch.zeros(2, 4, 3), torch.full((4,), -1), n_known=2, epoch=0, index=torch.arange(4)
    ... )
    >>> brick(views)  # each goes to the other image that is as it is: four orthogonal pairs, log(1 + 6/e)
    tensor(1.1654)
    """

    looks = True
    kept: Tensor | None  # [N, P], length 1

    def __init__(self, contrast_temperature: float = 1.0, shift: float = 0.5, neighbors: int = 8) -> None:
        super().__init__()
        self.contrast_temperature = positive("contrast_temperature", contrast_temperature)
        self.shift = fraction("shift", shift)
        self.neighbors = count("neighbors", neighbors, at_least=1)
        self.kept = None

    def look(self, collected: Collected) -> None:
        self.kept = unit_vectors(at_least_float32(collected.projections))

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        return info_nce(pairwise_cosines(self._moved(views)), self.contrast_temperature)

    def _moved(self, views: TwoViews) -> Tensor:
        """The views' projections after the step, at whatever length: [2, B, P]."""
        directions = unit_vectors(views.raw_projections())
        neighbors = 0 if self.kept is None else min(self.neighbors, len(self.kept) - 1)
        if self.kept is None or neighbors < 1:
            return directions
        if views.index is None:
            raise UserError("index is missing; to find other images give the batch's places in the collection as [B].")
        middle = mean_of_nearest(directions, self.kept.to(directions), views.index, neighbors)
        return (1 - self.shift) * directions + self.shift * middle
