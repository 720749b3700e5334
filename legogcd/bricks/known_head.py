"""A second classifier, of the known classes alone: it learns from labels and teaches the first to tell them apart."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from legogcd.bricks.shared.arguments import positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.collected import Collected
from legogcd.bricks.shared.cosines import unit_vectors
from legogcd.bricks.shared.precision import at_least_float32
from legogcd.bricks.shared.prototype_rows import START_LENGTH, random_rows
from legogcd.bricks.shared.two_views import TwoViews
from legogcd.bricks.supervised_ce import SupervisedCE
from legogcd.errors import UserError


class KnownHead(Brick):
    """Cross entropy of a classifier c of the known classes, and of the main one against what c says of known images.

    ``mean_i −log softmax(a_i/τ)[y_i] + mean_j CE( softmax(2·a_j/τ), softmax(z_j/τ) )`` with a = cos(feature, c), the
    target detached, and z the main classifier's logits of known classes alone; CE(q, p) = −Σ_k q_k log p_k. i runs over
    the labelled views, j over the unlabelled ones that the main classifier takes for a known class; a mean over none
    is 0.

    c is the parameter ``weight`` [known, D]. It starts at random, and where the collection is looked at before epoch 0,
    at the mean directions of the labelled images.

    After Liu et al., "Generalized category discovery via reciprocal learning and class-wise distribution
    regularization", ICML 2025, where c sees a token of its own.

    Args:
        temperature: τ.

    Reads ``logits`` [2, B, K], ``features`` [2, B, D], ``labels`` [B] and ``n_known``. ``selected``: the views i and j.

    >>> brick = KnownHead()
    >>> brick.sized(dim=2, n_classes=4, n_known=2)
    >>> views = TwoViews(
    ...     torch.zeros(2, 3, 8), torch.eye(4)[[0, 1, 3]].repeat(2, 1, 1), torch.tensor([0, -1, -1]), n_known=2,
    ...     epoch=0, features=torch.zeros(2, 3, 2),
    ... )
    >>> brick(views).detach()  # without a direction all is even: log 2, and (log(1 + e¹⁰) + log(1 + e⁻¹⁰))/2
    tensor(5.6932)
    >>> brick.selected
    tensor([[ True,  True, False],
            [ True,  True, False]])
    """

    looks = True
    weight: nn.Parameter | None

    def __init__(self, temperature: float = 0.1) -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)
        self.cross_entropy = SupervisedCE(temperature)
        self.register_parameter("weight", None)

    def sized(self, dim: int, n_classes: int, n_known: int) -> None:
        self.weight = nn.Parameter(random_rows(n_known, dim))

    @torch.no_grad()
    def look(self, collected: Collected) -> None:
        if collected.epoch or self.weight is None:
            return
        units = unit_vectors(at_least_float32(collected.features))  # [N, D]
        for known, row in enumerate(self.weight):
            own = units[collected.labels == known]
            if len(own):
                row.copy_(START_LENGTH * unit_vectors(own.mean(dim=0)))

    def forward(self, views: TwoViews) -> Tensor:
        cosines = self._cosines(views)  # [2, B, known]
        logits = views.scaled_logits(self.temperature)  # [2, B, K]
        taken_for_known = ~views.labelled & (logits.argmax(dim=-1) < views.n_known)  # [2, B]
        self.selected = views.labelled_views | taken_for_known
        if not views.n_known:
            return cosines.sum()  # of nothing
        target = torch.softmax(2 * cosines.detach() / self.temperature, dim=-1)
        log_p = torch.log_softmax(logits[..., : views.n_known], dim=-1)  # [2, B, known]
        per_view = -(target * log_p).sum(dim=-1)  # [2, B]
        taught = torch.where(taken_for_known, per_view, 0).sum() / taken_for_known.sum().clamp_min(1)
        return self.cross_entropy(replace(views, logits=cosines)) + taught

    def _cosines(self, views: TwoViews) -> Tensor:
        if self.weight is None:
            raise UserError("KnownHead has no weight yet; say how large it is by sized(dim, n_classes, n_known).")
        if views.features is None:
            raise UserError("features are missing; to tell known classes apart give features as [2, B, dimensions].")
        features = at_least_float32(views.features)
        with torch.autocast(features.device.type, enabled=False):
            return unit_vectors(features) @ unit_vectors(self.weight.to(features.dtype)).T
