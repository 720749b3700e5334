"""DINO's projection head, and a short way to the cosines of its very wide outputs."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from legogcd.bricks.shared.precision import at_least_float32
from legogcd.methods.heads import Prototypes, build_projector


class DINOHead(nn.Module):
    """MLP dim-hidden-hidden-bottleneck, L2 normalization, and a layer to ``out`` whose rows have length 1.

    The last layer is weight-normed with its magnitude fixed at 1, so an output is the cosine to one of its rows.

    >>> DINOHead(8, hidden=16, bottleneck=4, out=32)(torch.zeros(2, 3, 8)).shape
    torch.Size([2, 3, 32])
    """

    def __init__(self, dim: int, hidden: int = 2048, bottleneck: int = 256, out: int = 65_536) -> None:
        super().__init__()
        self.mlp = build_projector(dim, hidden, bottleneck)
        self.last = Prototypes(bottleneck, out)

    def forward(self, features: Tensor) -> Tensor:
        """[..., D] -> [..., out]."""
        return self.last(self.mlp(features))  # type: ignore[no-any-return]

    def pairwise_cosines(self, features: Tensor) -> Tensor:
        """Cosine of each pair of outputs: [2, B, D] → [2B, 2B], the B first views before the B second ones.

        With x the normalized bottleneck and W [out, bottleneck] the last layer, outputs W·x_i and W·x_j have the inner
        product x_iᵀ(WᵀW)x_j: the outputs themselves, 2B × 65,536 numbers and as many gradients, are never needed.
        """
        bottleneck = self.mlp(features).flatten(0, 1)  # [2B, bottleneck]
        with torch.autocast(features.device.type, enabled=False):  # autocast would multiply in half precision
            x = F.normalize(at_least_float32(bottleneck), dim=-1)
            rows = F.normalize(self.last.weight, dim=-1)  # [out, bottleneck]
            products = x @ (rows.T @ rows) @ x.T  # [2B, 2B]
        lengths = products.diagonal().clamp_min(1e-24).sqrt()  # [2B]
        return products / lengths[:, None] / lengths
