"""Sinkhorn-Knopp: soft assignments of rows to classes that use all classes alike."""

import torch
from torch import Tensor

from legogcd.bricks.shared.arguments import count, positive
from legogcd.bricks.shared.precision import at_least_float32


@torch.no_grad()
def sinkhorn_knopp(logits: Tensor, epsilon: float = 0.05, iterations: int = 3, weights: Tensor | None = None) -> Tensor:
    """Q = diag(u)·exp(z/ε)·diag(v) whose rows sum to one and whose columns come near N/K each, by alternate scaling.

    An iteration scales the columns to equal sums, then the rows to one; the more iterations, the better the columns
    are balanced. The limit is the one matrix of that form with both. It is computed on logarithms, so that no z/ε is
    too large.

    Args:
        logits: z, [..., N, K]; the leading dimensions are balanced apart.
        epsilon: ε; the smaller, the sharper the assignments.
        iterations: how often columns and rows are scaled.
        weights: w [N], zero or more: a row counts w times in the column sums. A row of weight 0 is assigned like the
            others but has no say; where none has any, no column is scaled and Q = softmax(z/ε).

    Returns:
        [..., N, K], in float32 at least, without gradient.

    >>> everyone_likes_the_first = torch.tensor([[0.2, 0.0], [0.1, 0.0]])
    >>> torch.softmax(everyone_likes_the_first / 0.05, dim=-1)
    tensor([[0.9820, 0.0180],
            [0.8808, 0.1192]])
    >>> sinkhorn_knopp(everyone_likes_the_first, iterations=50)
    tensor([[0.7311, 0.2689],
            [0.2689, 0.7311]])
    """
    epsilon, iterations = positive("epsilon", epsilon), count("iterations", iterations, at_least=1)
    log_q = at_least_float32(logits) / epsilon  # [..., N, K]
    log_weights = log_q.new_zeros(()) if weights is None else weights.to(log_q).log()[:, None]  # [N, 1]
    for _ in range(iterations):
        log_columns = torch.logsumexp(log_q + log_weights, dim=-2, keepdim=True)  # [..., 1, K]
        log_columns = log_columns.masked_fill(log_columns == -torch.inf, 0)  # no row has weight
        log_q = torch.log_softmax(log_q - log_columns, dim=-1)
    return log_q.exp()
