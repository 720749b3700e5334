"""Mean over positions of ReLU6(W x + b) for maps x that are not trained, and its gradient for W and b.

Written plainly, it makes four tensors as large as all responses: the product, ReLU6 of it, and backwards the spread
mean and the masked one. Here there is one, kept for the way back. Each thread takes a few views at a time from the
product to the mean and from the mask to the product that sums W's gradient, so threads meet twice a step and not after
every operation. What is summed is summed in the same order with any number of threads.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from legogcd.vision.attention import at_least_float32
from legogcd.vision.view_by_view import few_at_once
from legogcd.vision.views.rows import Rows, dense
from legogcd.vision.views.workers import in_slices

_LOW, _HIGH = 0.0, 6.0


def pooled_responses(maps: Tensor | Rows, weight: Tensor, bias: Tensor, dtype: torch.dtype) -> Tensor:
    """mean_t ReLU6(W x_t + b) for maps [N, h, w, C], W [D, C], b [D], products in ``dtype``: [N, D].

    >>> maps = torch.tensor([[[[1.0], [3.0]], [[-2.0], [9.0]]]])
    >>> pooled_responses(maps, torch.ones(1, 1), torch.zeros(1), torch.float32)
    tensor([[2.5000]])
    """
    trained = isinstance(maps, Tensor) and (maps.requires_grad or maps.device.type != "cpu")
    if trained or dtype != weight.dtype:
        responses = functional.linear(dense(maps, dtype).flatten(1, 2), weight, bias)  # [N, h·w, D]
        return functional.relu6(responses).mean(1, dtype=at_least_float32(responses))
    learns = torch.is_grad_enabled() and (weight.requires_grad or bias.requires_grad)
    pooled: Tensor = _ByView.apply(weight, bias, maps, learns)  # type: ignore[no-untyped-call]
    return pooled


class _ByView(torch.autograd.Function):
    """`pooled_responses` over constant maps, a few views after the other."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, maps: Tensor | Rows, learns: bool) -> Tensor:
        n_views, height, width, _ = maps.shape
        matrix, shift = weight.detach().t(), bias.detach()
        pooled = shift.new_empty(n_views, len(shift))
        kept = shift.new_empty(n_views if learns else 0, height * width, len(shift))

        @torch.no_grad()
        def respond(begin: int, end: int) -> None:
            for part, vectors in _vectors(maps, begin, end, shift.dtype):
                responses = kept[part] if learns else shift.new_empty(len(vectors), height * width, len(shift))
                torch.addmm(shift, vectors.flatten(0, 1), matrix, out=responses.flatten(0, 1))
                torch.mean(responses.clamp_(_LOW, _HIGH), 1, out=pooled[part])

        in_slices(respond, n_views)
        ctx.save_for_backward(weight, kept)
        ctx.maps = maps
        return pooled

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor, None, None]:
        weight, kept = ctx.saved_tensors
        sums: dict[int, list[tuple[Tensor, Tensor]]] = {}
        share = slope / kept.shape[1]  # a position's part of the mean

        @torch.no_grad()
        def descend(begin: int, end: int) -> None:
            parts = sums[begin] = []
            for part, vectors in _vectors(ctx.maps, begin, end, weight.dtype):
                by_response = torch.empty_like(kept[part])
                spread = share[part, None].expand_as(by_response)
                torch.ops.aten.hardtanh_backward.grad_input(spread, kept[part], _LOW, _HIGH, grad_input=by_response)
                rows = by_response.flatten(0, 1)
                _add(parts, torch.mm(rows.t(), vectors.flatten(0, 1)), rows.sum(0))

        in_slices(descend, len(kept))
        whole: list[tuple[Tensor, Tensor]] = []
        for begin in sorted(sums):
            _add(whole, *sums[begin][0])
        return *whole[0], None, None


def _add(sums: list[tuple[Tensor, Tensor]], by_weight: Tensor, by_bias: Tensor) -> None:
    """Add to the only entry of ``sums``, or make it."""
    if not sums:
        sums.append((by_weight, by_bias))
    else:
        sums[0][0].add_(by_weight)
        sums[0][1].add_(by_bias)


def _vectors(maps: Tensor | Rows, begin: int, end: int, dtype: torch.dtype) -> Iterator[tuple[slice, Tensor]]:
    """A few views at once, where they are in the batch and their positions' vectors [n, h·w, C]."""
    for part, numbers, scales in few_at_once(maps, begin, end, dtype):
        yield part, (numbers if scales is None else numbers.mul_(scales[..., None])).flatten(1, 2)
