"""Half precision is for storage: the losses are computed in float32 at least."""

import torch
from torch import Tensor


def at_least_float32(tensor: Tensor) -> Tensor:
    """``tensor`` itself if it is float32 or float64, else its float32 copy (gradients pass through)."""
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()
