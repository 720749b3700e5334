"""Gradients of unlabelled images held off the directions in which the known classes lie."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from legogcd.bricks.shared.precision import at_least_float32


class Steering(nn.Module):
    """Leaves features as they are; of an unlabelled one's gradient, part of what lies among the known classes goes.

    ``g ↦ g − s·(1 − e)·U·Uᵀ·g``: the columns of U span the known classes, e = ‖Uᵀx‖²/‖x‖² in [0, 1] is how much of the
    feature x lies among them (no gradient flows through it), and s is the strength. An image that looks new moves less
    along the directions of known classes; one that looks known, and every labelled one, moves as it would.

    ``basis`` U [D, r] is a buffer, r = min(n_known, D). It is found once, before training; until then it is zero, and
    nothing is steered.

    After the elastic projection of Zheng et al., "The devil is in gradient entanglement: energy-aware gradient
    coordinator for robust generalized category discovery", CVPR 2026; the other half of it, labelled gradients that are
    aligned with those of a reference model, is not here.

    Args:
        dim: D, of the features.
        n_known: how many known classes there are.
        strength: s, from 0 to 1.

    >>> steering = Steering(dim=3, n_known=1, strength=1.0)
    >>> steering.find([torch.tensor([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])], torch.tensor([0, -1]))
    >>> features = torch.tensor([[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]], requires_grad=True)  # one view of two images
    >>> steering(features, torch.tensor([0, -1])).sum().backward()
    >>> features.grad
    tensor([[1., 1., 1.],
            [0., 1., 1.]])
    """

    basis: Tensor

    def __init__(self, dim: int, n_known: int, strength: float) -> None:
        super().__init__()
        self.n_known = n_known
        self.strength = strength
        self.register_buffer("basis", torch.zeros(dim, min(n_known, dim)))

    @torch.no_grad()
    def find(self, features: Iterable[Tensor], labels: Tensor) -> None:
        """Span the known classes: the principal directions of their labelled images' mean directions.

        ``features`` are all images' in batches [n, D], ``labels`` [N] their classes, -1 for none. The means are not
        centered; where fewer than r are independent, the columns that are left are zero.
        """
        dim, labels = len(self.basis), labels.cpu()
        sums, begin = torch.zeros(self.n_known, dim, dtype=torch.float64), 0
        for batch in features:
            own = labels[begin : begin + len(batch)]
            known = own >= 0
            sums.index_add_(0, own[known], F.normalize(batch.cpu()[known].double(), dim=-1))
            begin += len(batch)
        sizes = labels[labels >= 0].bincount(minlength=self.n_known)
        means = sums / sizes.clamp_min(1)[:, None]  # [C, D]
        _, lengths, axes = torch.linalg.svd(means, full_matrices=False)  # [r], [r, D]
        noise = max(means.shape) * torch.finfo(torch.float32).eps * lengths[:1]  # features are no more exact
        self.basis.copy_((axes * (lengths > noise)[:, None]).T)

    def forward(self, features: Tensor, labels: Tensor) -> Tensor:
        """[..., B, D] -> the same; labels [B], -1 = unlabelled."""
        with torch.no_grad(), torch.autocast(features.device.type, enabled=False):
            directions = F.normalize(at_least_float32(features), dim=-1)
            basis = self.basis.to(directions.dtype)
            energy = (directions @ basis).square().sum(-1).clamp_max(1)  # [..., B]
            removed = torch.where(labels < 0, self.strength * (1 - energy), 0)
        steered: Tensor = _Steered.apply(features, basis, removed)  # type: ignore[no-untyped-call]
        return steered


class _Steered(torch.autograd.Function):
    """The features [..., B, D]; of their gradient, a share ``removed`` [..., B] of what lies in the basis goes."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, basis: Tensor, removed: Tensor) -> Tensor:
        ctx.save_for_backward(basis, removed)
        return features.view_as(features)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        basis, removed = ctx.saved_tensors
        within = gradient.to(basis.dtype) @ basis @ basis.T
        return (gradient - removed[..., None] * within).to(gradient.dtype), None, None
