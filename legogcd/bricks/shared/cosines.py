"""Every view against every view: what the contrastive bricks compare."""

import torch
from torch import Tensor

NO_DIRECTION = 1e-12  # a vector with no component above this is taken for zero


def unit_vectors(vectors: Tensor) -> Tensor:
    """Each vector of [..., P] at length 1; one without a direction stays as it is, and so does its gradient.

    >>> unit_vectors(torch.tensor([[3.0, 4.0], [0.0, 0.0], [3e30, 4e30]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000],
            [0.6000, 0.8000]])
    """
    largest = vectors.detach().abs().amax(dim=-1, keepdim=True)  # [..., 1]
    empty = largest <= NO_DIRECTION
    vectors = vectors / largest.masked_fill(empty, 1)  # a first scaling, so that squares neither over- nor underflow
    lengths: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / lengths.masked_fill(empty, 1)


def pairwise_cosines(projections: Tensor) -> Tensor:
    """Cosine of each pair of views: [2, B, P] → [2B, 2B], the B first views before the B second ones."""
    directions = unit_vectors(projections).flatten(0, 1)  # [2B, P]
    with torch.autocast(directions.device.type, enabled=False):  # autocast would multiply in half precision
        return directions @ directions.T
