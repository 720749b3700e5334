"""How numbers of a state are stored: as bf16, fp16 or fp32, or as int8 with one scale per vector.

As int8, a vector of D numbers is stored with its scale behind it, max |x| / 127 in float32: D + 4 bytes for bf16's 2·D.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
INT8 = "int8"
KEPT_DTYPES = (*DTYPES, INT8)
_SCALE = torch.float32


def quantized(values: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers [..., D] in int8 and scales [...] whose product is ``values`` [..., D] to 1/254 of a vector's largest.

    >>> numbers, scales = quantized(torch.tensor([[-2.0, 1.0, 0.5], [0.0, 0.0, 0.0]]))
    >>> numbers.tolist(), (scales * 127).tolist()
    ([[-127, 64, 32], [0, 0, 0]], [2.0, 0.0])
    """
    scales = values.to(_SCALE).abs().amax(-1) / 127
    return (values / scales.clamp_min(torch.finfo(_SCALE).tiny)[..., None]).round().to(torch.int8), scales


def stored_as(values: Tensor, dtype: str) -> Tensor:
    """What training would read of ``values`` [..., D] after storing them as ``dtype``."""
    if dtype != INT8:
        return values.to(DTYPES[dtype])
    numbers, scales = quantized(values)
    return numbers * scales[..., None]


@dataclass(frozen=True)
class StoredTensor:
    """One tensor of a stored state: its name, its shape for one view, and how its numbers are stored."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes_per_view(self) -> int:
        return math.prod(self.shape[:-1]) * self._bytes_per_vector

    @property
    def alignment(self) -> int:
        """What the place of its bytes in a file must be a multiple of."""
        return _SCALE.itemsize if self.dtype == INT8 else DTYPES[self.dtype].itemsize

    @property
    def _bytes_per_vector(self) -> int:
        if self.dtype != INT8:
            return self.shape[-1] * DTYPES[self.dtype].itemsize
        return self._padded + _SCALE.itemsize

    @property
    def _padded(self) -> int:
        """The numbers of an int8 vector, up to where a scale can stand."""
        return -self.shape[-1] % _SCALE.itemsize + self.shape[-1]

    def unpacked(self, content: Tensor) -> tuple[Tensor, Tensor | None]:
        """Bytes [..., bytes per vector] as numbers [..., D] and, for int8, their scales [...]."""
        if self.dtype != INT8:
            return content.view(DTYPES[self.dtype]), None
        return content.view(torch.int8)[..., : self.shape[-1]], content[..., self._padded :].view(_SCALE)[..., 0]

    def packed(self, values: Tensor) -> np.ndarray:
        """A trunk's output [N, *shape] as the bytes that go into the file, [N, bytes per view]."""
        content = torch.zeros(len(values), *self.shape[:-1], self._bytes_per_vector, dtype=torch.uint8)
        numbers, scales = self.unpacked(content)
        if scales is None:
            numbers.copy_(values)
        else:
            for stored, made in zip((numbers, scales), quantized(values), strict=True):
                stored.copy_(made)
        return content.flatten(1).numpy()
