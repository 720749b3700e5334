"""Known anchor: labelled images are held to how their class has been predicted so far."""

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import count, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.running_mean import RunningMean
from legogcd.bricks.shared.two_views import TwoViews


def class_means(p: Tensor, labels: Tensor, n_classes: int) -> tuple[Tensor, Tensor]:
    """Mean of p [2, B, K] over the views of each labelled class: [C, K], 0 where there is none, and how many: [C]."""
    members = labels == torch.arange(n_classes, device=labels.device)[:, None]  # [C, B]
    views = 2 * members.sum(dim=1)  # [C]
    with torch.autocast(p.device.type, enabled=False):  # autocast would multiply in half precision
        sums = members.to(p) @ p.sum(dim=0)  # [C, K]
    return sums / views.clamp_min(1)[:, None], views


class KnownAnchor(Brick):
    """KL of the labelled images' predictions, both views, from their class's slow-moving reference.

    ``mean_i KL( r_{y_i} ‖ softmax(z_i/τs) )`` over the labelled views i, without gradient through r; 0 where no image
    is labelled. r_c is a running mean of softmax(z/τr) over the labelled views of class c. What the unlabelled terms
    do to a known class between two steps is small against r_c's memory, so the class is pulled back to where it was;
    the resemblances it has to other classes are kept too, which a label alone would not do.

    r_c starts as the label, one-hot: with ``momentum`` 1 the term is the supervised cross entropy. It is updated after
    use, where the batch holds class c, in training mode, before epoch ``freeze_epoch``. The buffer is
    ``references.mean``, [n_known, K] however many images there are.

    Args:
        temperature: τs.
        reference_temperature: τr; below τs the reference is sharper than what it is the mean of.
        momentum: how much of r_c an update keeps.
        freeze_epoch: from which epoch on r stays as it is; None: never.

    Reads ``logits`` [2, B, K], ``labels`` [B], ``n_known`` and ``epoch``. ``selected``: the labelled views.

    >>> views = TwoViews(torch.zeros(2, 3, 8), torch.zeros(2, 3, 4), torch.tensor([0, 1, -1]), n_known=2, epoch=0)
    >>> brick = KnownAnchor(momentum=0.5)
    >>> brick(views)  # log 4
    tensor(1.3863)
    >>> brick.references.mean  # half label, half what was predicted
    tensor([[0.6250, 0.1250, 0.1250, 0.1250],
            [0.1250, 0.6250, 0.1250, 0.1250]])
    """

    def __init__(
        self,
        temperature: float = 0.1,
        reference_temperature: float = 0.05,
        momentum: float = 0.99,
        freeze_epoch: int | None = None,
    ) -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)
        self.reference_temperature = positive("reference_temperature", reference_temperature)
        self.freeze_epoch = None if freeze_epoch is None else count("freeze_epoch", freeze_epoch, at_least=0)
        self.references = RunningMean(momentum)

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.labelled_views
        log_p = views.log_probabilities(self.temperature)  # [2, B, K]
        n_classes = max(views.n_known, 1)  # one row at least, for unlabelled images to point at
        one_hot = torch.eye(n_classes, log_p.shape[-1], dtype=log_p.dtype, device=log_p.device)  # [C, K]
        references = self.references.current(one_hot)
        target = references[views.labels.long().clamp_min(0)]  # [B, K], any class where unlabelled
        per_view = (torch.xlogy(target, target) - target * log_p).sum(dim=-1)  # [2, B]
        if self.freeze_epoch is None or views.epoch < self.freeze_epoch:
            p = views.log_probabilities(self.reference_temperature).detach().exp()  # [2, B, K]
            means, seen = class_means(p, views.labels, n_classes)
            self.references.update(references, means, seen=(seen > 0)[:, None])
        return torch.where(self.selected, per_view, 0).sum() / self.selected.sum().clamp_min(1)
