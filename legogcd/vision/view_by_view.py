"""Go through a batch's states a few views at a time: cast into a buffer that stays in the core's own cache."""

from collections.abc import Iterator

import torch
from torch import Tensor

from legogcd.vision.views.rows import Rows, select

_IN_CACHE = 1 << 18  # numbers in a buffer: a view of ViT-B/16, or several smaller ones

FewViews = tuple[slice, Tensor, Tensor | None]  # where in the batch, numbers [n, ..., D], scales [n, ...] or None


def few_at_once(states: Tensor | Rows, begin: int, end: int, dtype: torch.dtype) -> Iterator[FewViews]:
    """Views ``begin`` to ``end`` of ``states`` [N, ..., D] in ``dtype``; each few are gone when the next ones come.

    >>> states = Rows(torch.tensor([[1, 2], [3, 4], [5, 6]], dtype=torch.int8), torch.tensor([2, 0]))
    >>> [(part, numbers.tolist()) for part, numbers, _ in few_at_once(states, 0, 2, torch.float32)]
    [(slice(0, 2, None), [[5.0, 6.0], [1.0, 2.0]])]
    """
    shape = states.shape[1:]
    at_once = max(1, _IN_CACHE // shape.numel())
    parts = (slice(first, min(first + at_once, end)) for first in range(begin, end, at_once))
    if not isinstance(states, Rows):
        yield from ((part, states[part].to(dtype), None) for part in parts)
        return
    buffer = torch.empty(min(at_once, end - begin), *shape, dtype=dtype)
    index = states.index[begin:end]
    rows, scales = index.tolist(), None if states.scales is None else select(states.scales, index)
    for part in parts:
        own = slice(part.start - begin, part.stop - begin)
        numbers = buffer[: part.stop - part.start]
        for place, row in enumerate(rows[own]):
            numbers[place].copy_(states.numbers[row])
        yield part, numbers, None if scales is None else scales[own]
