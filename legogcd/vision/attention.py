"""A few queries attend to tokens that are not trained: Σ_t softmax_t(q·n_t) n_t, and its gradient for the queries.

On the CPU a step is bound by how often the tokens come from memory, so a view's are read twice, once forwards and once
backwards: cast into a buffer that stays in the core's own cache, where both products of that direction find them.
Kept as int8 numbers m_t with scales s_t, they are never scaled: q·n_t = s_t (q·m_t), and Σ p_t n_t = Σ (p_t s_t) m_t.
"""

from typing import Any

import torch
from torch import Tensor

from legogcd.vision.view_by_view import few_at_once
from legogcd.vision.views.rows import Rows
from legogcd.vision.views.workers import in_slices


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

        @torch.no_grad()
        def pool(begin: int, end: int) -> None:
            for part, numbers, scales in few_at_once(tokens, begin, end, dtype):
                scores = torch.bmm(given[part], numbers.transpose(1, 2))  # [n, H, T]
                shares = softmax(scores if scales is None else scores.mul_(scales[:, None]))
                weights[part] = shares
                torch.bmm((shares if scales is None else shares * scales[:, None]).to(dtype), numbers, out=pooled[part])

        in_slices(pool, len(given))
        ctx.save_for_backward(weights)
        ctx.tokens = tokens
        return pooled

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:
        (weights,) = ctx.saved_tensors
        by_query = torch.empty_like(slope)  # [N, H, D]

        @torch.no_grad()
        def descend(begin: int, end: int) -> None:
            for part, numbers, scales in few_at_once(ctx.tokens, begin, end, slope.dtype):
                shares = weights[part]  # [n, H, T]
                by_score = torch.bmm(slope[part], numbers.transpose(1, 2)) * shares  # [n, H, T]
                if scales is not None:
                    by_score *= scales[:, None]
                by_score.addcmul_(shares, by_score.sum(-1, keepdim=True), value=-1)  # softmax's derivative
                if scales is not None:
                    by_score *= scales[:, None]
                torch.bmm(by_score.to(slope.dtype), numbers, out=by_query[part])

        in_slices(descend, len(slope))
        return by_query, None
