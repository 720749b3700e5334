"""A few queries attend to tokens that are not trained: Σ_t softmax_t(q·n_t) n_t, and its gradient for the queries.

On the CPU a step is bound by how often the tokens come from memory, so a view's are read twice, once forwards and once
backwards: cast into a buffer that stays in the core's own cache, where both products of that direction find them.
Kept as int8 numbers m_t with scales s_t, they are never scaled: q·n_t = s_t (q·m_t), and Σ p_t n_t = Σ (p_t s_t) m_t.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from legogcd.vision.views.rows import Rows, select
from legogcd.vision.views.workers import in_slices

_IN_CACHE = 1 << 18  # numbers in a buffer: a view of ViT-B/16, or several smaller ones

Work = Callable[[slice, Tensor, Tensor | None], None]  # where in the batch, numbers [n, T, D], scales [n, 1, T]


def attend(queries: Tensor, tokens: Tensor | Rows, dtype: torch.dtype) -> Tensor:
    """Σ_t softmax_t(q·n_t) n_t for queries [N, H, D] over tokens [N, T, D], products in ``dtype``: [N, H, D].

    >>> attend(torch.zeros(1, 1, 2), torch.tensor([[[1.0, 0.0], [3.0, 2.0]]]), torch.float32)
    tensor([[[2., 1.]]])
    """
    if isinstance(tokens, Tensor) and (tokens.requires_grad or tokens.device.type != "cpu"):
        tokens = tokens.to(dtype)
        weights = softmax(torch.bmm(queries.to(dtype), tokens.transpose(1, 2)))  # [N, H, T]
        return torch.bmm(weights.to(dtype), tokens)
    pooled: Tensor = _ByView.apply(queries.to(dtype), tokens)  # type: ignore[no-untyped-call]
    return pooled


def softmax(scores: Tensor) -> Tensor:
    """Over the last axis, never in half precision."""
    return scores.softmax(-1, dtype=at_least_float32(scores))


def at_least_float32(like: Tensor) -> torch.dtype:
    """The type sums over many numbers run in: float32 for half precision, float64 for float64."""
    return torch.promote_types(like.dtype, torch.float32)


class _ByView(torch.autograd.Function):
    """`attend` over constant tokens, view after view; products in the queries' type."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, tokens: Tensor | Rows) -> Tensor:
        dtype, given = queries.dtype, queries.detach()
        weights = given.new_empty(*given.shape[:2], tokens.shape[1], dtype=at_least_float32(given))  # [N, H, T]
        pooled = torch.empty_like(given)  # [N, H, D]

        def pool(part: slice, numbers: Tensor, scales: Tensor | None) -> None:
            scores = torch.bmm(given[part], numbers.transpose(1, 2))  # [n, H, T]
            if scales is not None:
                scores *= scales
            shares = softmax(scores)
            weights[part] = shares
            torch.bmm((shares if scales is None else shares * scales).to(dtype), numbers, out=pooled[part])

        _view_after_view(tokens, dtype, pool)
        ctx.save_for_backward(weights)
        ctx.tokens = tokens
        return pooled

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:
        (weights,) = ctx.saved_tensors
        by_query = torch.empty_like(slope)  # [N, H, D]

        def descend(part: slice, numbers: Tensor, scales: Tensor | None) -> None:
            shares = weights[part]  # [n, H, T]
            by_score = torch.bmm(slope[part], numbers.transpose(1, 2)) * shares  # [n, H, T]
            if scales is not None:
                by_score *= scales
            by_score = by_score.addcmul_(shares, by_score.sum(-1, keepdim=True), value=-1)  # softmax's derivative
            torch.bmm((by_score if scales is None else by_score * scales).to(slope.dtype), numbers, out=by_query[part])

        _view_after_view(ctx.tokens, slope.dtype, descend)
        return by_query, None


def _view_after_view(tokens: Tensor | Rows, dtype: torch.dtype, work: Work) -> None:
    """Hand ``work`` a few views' tokens at a time, in ``dtype``, from threads that split the batch."""
    n_views, n_tokens, dim = tokens.shape
    at_once = max(1, _IN_CACHE // (n_tokens * dim))

    @torch.no_grad()
    def go_through(begin: int, end: int) -> None:
        buffer = torch.empty(at_once, n_tokens, dim, dtype=dtype)
        for first in range(begin, end, at_once):
            part = slice(first, min(first + at_once, end))
            if isinstance(tokens, Rows):
                work(part, *_read(tokens, part, buffer))
            else:
                work(part, tokens[part].to(dtype), None)

    in_slices(go_through, n_views)


def _read(tokens: Rows, part: slice, buffer: Tensor) -> tuple[Tensor, Tensor | None]:
    """Rows' numbers in a buffer's type, and their scales."""
    numbers = buffer[: part.stop - part.start]
    places = tokens.index[part]
    for place, row in enumerate(places.tolist()):
        numbers[place].copy_(tokens.numbers[row])
    scales = None if tokens.scales is None else select(tokens.scales, places)[:, None]
    return numbers, scales
