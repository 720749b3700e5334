"""A confidence threshold that follows how confident the model is."""

import torch
from torch import Tensor, nn

from legogcd.bricks.shared.arguments import fraction
from legogcd.bricks.shared.running_mean import RunningMean, mean_of_images, uniform_over_classes
from legogcd.bricks.shared.two_views import TwoViews


class AdaptiveThreshold(nn.Module):
    """δ for each class, from the confidence that the unlabelled views have had so far.

    ``δ_c = max( δ_min, m·(p̃_c / max_{k known} p̃_k)^a )``, where m is a running mean of max softmax(z/τs) over the
    unlabelled views and p̃ one of softmax(z/τs): a view has to be surer than the average one, the less so the more
    rarely its class is predicted. Nothing in it depends on the number of classes or on how the backbone's cosines are
    spread, and δ_min = ½ asks of any model that one class outweigh all others.

    m starts at δ_min (at 1/K if that is higher), p̃ uniform; both are updated after use, in training mode only. They
    are the buffers ``confidence.mean``, a scalar, and ``usage.mean`` [K].

    For ``LocalEntropy(threshold=AdaptiveThreshold())``.

    Wang et al., "FreeMatch: self-adaptive thresholding for semi-supervised learning", ICLR 2023.

    Args:
        floor: δ_min, from 0 to 1.
        class_strength: a, from 0 (one threshold for all classes) to 1.
        momentum: how much of m and p̃ an update keeps.

    Reads ``logits`` [2, B, K], ``labels`` [B] and ``n_known``.

    >>> logits = torch.tensor([[0.9, 0.1, 0.1], [0.1, 0.5, 0.1]]).repeat(2, 1, 1)
    >>> views = TwoViews(torch.zeros(2, 2, 8), logits, torch.tensor([-1, -1]), n_known=2, epoch=0)
    >>> threshold = AdaptiveThreshold(momentum=0.0)
    >>> threshold(views)
    tensor([0.5000, 0.5000, 0.5000])
    >>> threshold(views)  # the views were 0.98 sure; class 1 is predicted a little less often than class 0
    tensor([0.9820, 0.9318, 0.5000])
    """

    def __init__(self, floor: float = 0.5, class_strength: float = 1.0, momentum: float = 0.99) -> None:
        super().__init__()
        self.floor = fraction("floor", floor)
        self.class_strength = fraction("class_strength", class_strength)
        self.confidence = RunningMean(momentum)
        self.usage = RunningMean(momentum)

    @torch.no_grad()
    def forward(self, views: TwoViews, temperature: float = 0.1) -> Tensor:
        """The classes' thresholds at this step: [K]."""
        p = views.log_probabilities(temperature).exp()  # [2, B, K]
        uniform = uniform_over_classes(p)  # [K]
        usage, confidence = self.usage.current(uniform), self.confidence.current(uniform[0].clamp_min(self.floor))
        unlabelled = ~views.labelled
        self.usage.update(usage, mean_of_images(p, unlabelled), seen=unlabelled.any())
        self.confidence.update(confidence, mean_of_images(p.amax(dim=-1), unlabelled), seen=unlabelled.any())
        most_used = usage[: max(views.n_known, 1)].max().clamp_min(torch.finfo(usage.dtype).tiny)
        relative = (usage / most_used).clamp_max(1)  # [K]; a new class may be used more than any known one
        return (confidence * relative**self.class_strength).clamp_min(self.floor)
