"""Prototypes whose logits are distances in a Poincaré ball instead of cosines."""

import math

import torch
from torch import Tensor

from legogcd.bricks.shared.precision import at_least_float32
from legogcd.methods.heads import Prototypes


class HyperbolicPrototypes(Prototypes):
    """K directions; the logit of class k falls with the hyperbolic distance between feature and prototype.

    ``z_k = 1 − 2·d(x, p_k)/d_max`` in [-1, 1]. Features longer than r = ``clip_length`` are clipped, x·min(1, r/‖x‖);
    prototypes have length r. Both are mapped into the ball of curvature −c by ``tanh(√c‖x‖)·x/(√c‖x‖)``, where

    ``d = (2/√c)·artanh(√c·‖(−p) ⊕ x‖)``, with Möbius addition ⊕, and d_max = 4r between opposite points of length r.

    By the law of cosines that is ``(2/√c)·arsinh √(sinh²(√c(‖x‖ − r)) + ½·sinh(2√c‖x‖)·sinh(2√c·r)·(1 − cos))`` with
    the cosine between x and p: it takes one matrix product, and no artanh near 1. As c → 0, d becomes 2‖x − p‖.

    The nearest prototype is the one of the largest cosine, whatever c is; what differs is how sure that is, and the
    gradient. Logits lie in ±‖x‖/r where a feature is shorter than r. Backbones' features are mostly longer, so all
    are clipped. Whitened ones are about 1 long where features spread alike in all directions, and several times as
    long where they do not; a smaller ``clip_length`` suits short ones.

    After HypCD (CVPR 2025); its contrastive terms are not changed here.

    Args:
        dim: D, of the features.
        n_classes: K.
        curvature: c; 1 at most.
        clip_length: r; 10 at most, so that nothing overflows.

    >>> prototypes = HyperbolicPrototypes(dim=2, n_classes=2, curvature=0.05, clip_length=2.0)
    >>> prototypes.start_at(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    >>> prototypes(torch.tensor([[9.0, 0.0], [-2.0, 0.0], [0.5, 0.0]])).detach().round(decimals=2)
    tensor([[ 1.0000, -0.5000],
            [-1.0000, -0.5000],
            [ 0.2500, -0.0400]])
    """

    def __init__(self, dim: int, n_classes: int, curvature: float = 0.05, clip_length: float = 2.3) -> None:
        super().__init__(dim, n_classes)
        self.root = math.sqrt(curvature)
        self.clip_length = clip_length

    def forward(self, features: Tensor) -> Tensor:
        """[..., D] -> [..., K], each in [-1, 1]."""
        cosines = super().forward(features)
        with torch.autocast(features.device.type, enabled=False):
            root, r = self.root, self.clip_length  # √c, r
            length = torch.linalg.vector_norm(at_least_float32(features), dim=-1, keepdim=True).clamp_max(r)  # [..., 1]
            apart = 0.5 * torch.sinh(2 * root * length) * math.sinh(2 * root * r) * (1 - cosines)  # [..., K]
            squared = torch.sinh(root * (length - r)).square() + apart  # sinh² of √c·d/2
            half = torch.asinh(squared.clamp_min(torch.finfo(squared.dtype).tiny).sqrt())  # √ has no slope at 0
            return 1 - half / (root * r)
