"""Rows of kept numbers, left where they are until something computes with them."""

import torch
from torch import Tensor


class Rows:
    """Rows ``index`` [N] of ``numbers`` [M, ...], which may be far larger than memory.

    With ``scales`` [M, ...], one for every vector of ``numbers``, a value is number · scale.

    >>> rows = Rows(torch.tensor([[1, 2], [3, 4], [5, 6]], dtype=torch.int8), torch.tensor([2, 0]))
    >>> rows.dense(torch.float32)
    tensor([[5., 6.],
            [1., 2.]])
    """

    def __init__(self, numbers: Tensor, index: Tensor, scales: Tensor | None = None) -> None:
        self.numbers, self.index, self.scales = numbers, index, scales

    def __len__(self) -> int:
        return len(self.index)

    @property
    def shape(self) -> torch.Size:
        return torch.Size((len(self.index), *self.numbers.shape[1:]))

    def to(self, device: torch.device, non_blocking: bool = False) -> "Rows | Tensor":
        """Themselves on the CPU, where they can stay; elsewhere a copy, which is moved as small as it is kept."""
        if device.type == "cpu":
            return self
        numbers = self.numbers.index_select(0, self.index).to(device, non_blocking=non_blocking)
        if self.scales is None:
            return numbers
        return numbers * self.scales.index_select(0, self.index).to(device, non_blocking=non_blocking)[..., None]

    def dense(self, dtype: torch.dtype | None = None) -> Tensor:
        """The values [N, ...], in ``dtype`` or as they are kept."""
        numbers = self.numbers.index_select(0, self.index)
        if self.scales is not None:
            numbers = numbers * self.scales.index_select(0, self.index)[..., None]
        return numbers if dtype is None else numbers.to(dtype)


def dense(values: Tensor | Rows, dtype: torch.dtype) -> Tensor:
    """A state's part as a tensor of a type."""
    return values.dense(dtype) if isinstance(values, Rows) else values.to(dtype)
