"""Means over steps, for the bricks that remember."""

from typing import Any

import torch
from torch import Tensor, nn

from legogcd.bricks.shared.arguments import fraction
from legogcd.errors import UserError


class RunningMean(nn.Module):
    """A mean that follows what it is shown: m ← μ·m + (1 − μ)·new, in training mode only.

    The buffer ``mean`` is part of the state dict; it is None until the first update or until a state is loaded, so
    that its shape need not be known beforehand.

    Args:
        momentum: μ, how much of m an update keeps.

    >>> follower = RunningMean(momentum=0.75)
    >>> start = torch.zeros(2)
    >>> follower.update(follower.current(start), torch.tensor([4.0, 8.0]))
    >>> follower.current(start)
    tensor([1., 2.])
    """

    mean: Tensor | None

    def __init__(self, momentum: float) -> None:
        super().__init__()
        self.momentum = fraction("momentum", momentum)
        self.register_buffer("mean", None)

    def current(self, start: Tensor) -> Tensor:
        """m in the precision of ``start``, whose shape it must have; ``start`` itself before the first update."""
        if self.mean is None:
            return start
        if self.mean.shape != start.shape:
            raise UserError(
                f"a running mean has shape {list(self.mean.shape)}, this step needs {list(start.shape)}; "
                f"make a new brick for another number of classes."
            )
        return self.mean.to(start)

    @torch.no_grad()
    def update(self, current: Tensor, new: Tensor) -> None:
        """Follow ``new`` from ``current``."""
        if self.training:
            self.mean = torch.lerp(current, new.to(current), 1 - self.momentum).detach()

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        saved = state_dict.get(f"{prefix}mean")
        if self.mean is None and saved is not None:
            self.mean = torch.empty_like(saved)  # room for what is about to be loaded
        super()._load_from_state_dict(state_dict, prefix, *args)


def uniform_over_classes(log_p: Tensor) -> Tensor:
    """1/K for each class of [..., K], in its precision: where a mean prediction starts."""
    k = log_p.shape[-1]
    return log_p.new_full((k,), 1 / k)


def log_mean_prediction(mean_prediction: Tensor) -> Tensor:
    """log p̃, finite also where a class has underflowed to 0."""
    return mean_prediction.clamp_min(torch.finfo(mean_prediction.dtype).tiny).log()
