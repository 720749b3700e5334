"""Rows of stored numbers, left where they are until something computes with them."""

from collections.abc import Sequence

import torch
from torch import Tensor


class TallTensor:
    """Tensors [m, ...] one below the other, read as one [M, ...]; all have the same number of rows but the last.

    >>> tall = TallTensor([torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5, 6]])])
    >>> tall.shape, tall[2]
    (torch.Size([3, 2]), tensor([5, 6]))
    """

    def __init__(self, parts: Sequence[Tensor]) -> None:
        self.parts, self.height = list(parts), len(parts[0])
        self.dtype = parts[0].dtype
        self.shape = torch.Size((sum(len(part) for part in parts), *parts[0].shape[1:]))

    def __getitem__(self, row: int) -> Tensor:
        return self.parts[row // self.height].select(0, row % self.height)


class Rows:
    """Rows ``index`` [N] of ``numbers`` [M, ...], which may be far larger than memory.

    With ``scales`` [M, ...], one for every vector of ``numbers``, a value is number · scale.

    >>> rows = Rows(torch.tensor([[1, 2], [3, 4], [5, 6]], dtype=torch.int8), torch.tensor([2, 0]))
    >>> rows.dense(torch.float32)
    tensor([[5., 6.],
            [1., 2.]])
    """

    def __init__(self, numbers: Tensor | TallTensor, index: Tensor, scales: Tensor | TallTensor | None = None) -> None:
        self.numbers, self.index, self.scales = numbers, index, scales

    def __len__(self) -> int:
        return len(self.index)

    @property
    def shape(self) -> torch.Size:
        return torch.Size((len(self.index), *self.numbers.shape[1:]))

    def to(self, device: torch.device, non_blocking: bool = False) -> "Rows | Tensor":
        """Themselves on the CPU, where they can stay; elsewhere a copy, which is moved as small as it is stored."""
        if device.type == "cpu":
            return self
        numbers = select(self.numbers, self.index).to(device, non_blocking=non_blocking)
        if self.scales is None:
            return numbers
        return numbers * select(self.scales, self.index).to(device, non_blocking=non_blocking)[..., None]

    def dense(self, dtype: torch.dtype | None = None) -> Tensor:
        """The values [N, ...], in ``dtype`` or as they are stored."""
        numbers = select(self.numbers, self.index)
        if self.scales is not None:
            numbers = numbers * select(self.scales, self.index)[..., None]
        return numbers if dtype is None else numbers.to(dtype)


def select(numbers: Tensor | TallTensor, index: Tensor) -> Tensor:
    """Rows ``index`` [N] of ``numbers`` [M, ...], copied."""
    if isinstance(numbers, Tensor):
        return numbers.index_select(0, index)
    if len(numbers.parts) == 1:
        return numbers.parts[0].index_select(0, index)
    parts, height = numbers.parts, numbers.height
    return torch.stack([parts[row // height].select(0, row % height) for row in index.tolist()])


def dense(values: Tensor | Rows, dtype: torch.dtype) -> Tensor:
    """A state's part as a tensor of a type."""
    return values.dense(dtype) if isinstance(values, Rows) else values.to(dtype)
