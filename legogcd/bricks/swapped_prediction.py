"""Swapped prediction: each view learns the target that the other view gives its image."""

import torch
from torch import Tensor
from torch.nn import functional as F

from legogcd.bricks.shared.arguments import count, positive
from legogcd.bricks.shared.brick import Brick
from legogcd.bricks.shared.sinkhorn import sinkhorn_knopp
from legogcd.bricks.shared.two_views import TwoViews


class SwappedPrediction(Brick):
    """Cross entropy of one view's prediction against the other view's detached target.

    ``½ mean_i [ CE(q_i', p_i) + CE(q_i, p_i') ]`` over all images i with views i and i', where p = softmax(z/τ) and
    CE(q, p) = −Σ_k q_k log p_k. The target q is one-hot where the image is labelled; for the unlabelled images of a
    view it is their Sinkhorn-Knopp assignment to all K classes, which uses the classes alike
    (:func:`~legogcd.bricks.sinkhorn_knopp`).

    Without an unlabelled image this is the supervised cross entropy. A single unlabelled image cannot use the classes
    alike in any other way than to belong to each a little: its target is uniform.

    Args:
        temperature: τ.
        epsilon: ε of Sinkhorn-Knopp.
        iterations: how often Sinkhorn-Knopp scales columns and rows.

    Reads ``logits`` [2, B, K] and ``labels`` [B]. ``selected``: all views.

    >>> logits = torch.tensor([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]]).repeat(2, 1, 1)
    >>> views = TwoViews(torch.zeros(2, 3, 8), logits, torch.tensor([0, -1, -1]), n_known=1, epoch=0)
    >>> SwappedPrediction()(views)  # everyone is as sure as the target
    tensor(0.0003)
    """

    def __init__(self, temperature: float = 0.1, epsilon: float = 0.05, iterations: int = 3) -> None:
        super().__init__()
        self.temperature = positive("temperature", temperature)
        self.epsilon = positive("epsilon", epsilon)
        self.iterations = count("iterations", iterations, at_least=1)

    def forward(self, views: TwoViews) -> Tensor:
        self.selected = views.all_views
        log_p = views.log_probabilities(self.temperature)  # [2, B, K]
        return -(self._targets(views).flip(0) * log_p).sum(dim=-1).mean()  # flip: each view faces the other's target

    def _targets(self, views: TwoViews) -> Tensor:
        # Weights in place of views.logits[:, ~labelled], whose shape the device would have to be asked for.
        assigned = sinkhorn_knopp(views.logits, self.epsilon, self.iterations, weights=~views.labelled)  # [2, B, K]
        one_hot = F.one_hot(views.labels.long().clamp_min(0), assigned.shape[-1]).to(assigned)  # [B, K]
        return torch.where(views.labelled[:, None], one_hot, assigned)
