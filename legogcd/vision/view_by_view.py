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
    buffer = torch.empty(min(at_once, end - begin), *shape, dtype=dtype)
    if isinstance(states, Rows):
        stored, rows = states.numbers, states.index[begin:end].tolist()
        scales = None if states.scales is None else select(states.scales, states.index[begin:end])
    for first in range(begin, end, at_once):
        part = slice(first, min(first + at_once, end))
        if isinstance(states, Rows):
            numbers, of_all = buffer[: part.stop - first], slice(first - begin, part.stop - begin)
            for place, row in enumerate(rows[of_all]):
                numbers[place].copy_(stored[row])
            yield part, numbers, None if scales is None else scales[of_all]
        else:
            yield part, states[part].to(dtype), None
