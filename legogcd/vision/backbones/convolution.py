"""A convolution of a frozen trunk with what surrounds it, padding, batch norm, ReLU6 or the skip, in one pass.

A small convolution network on a CPU waits for memory more than for arithmetic: every pass over a map that is left out
counts. oneDNN does all of this while the numbers are still in registers; elsewhere plain operations do the same.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval


class FrozenConvolution(nn.Module):
    """ReLU6(norm(w ∗ x)), or norm(w ∗ x) + skip: [N, C, H, W] -> [N, C', H/s, W/s] where the stride s divides H and W.

    Around the map are k − s zeros along each side, the odd one at the end ("same" in TensorFlow). A row and a column of
    zeros before the kernel make both ends alike, so that the map need not be copied into a larger one.

    >>> convolution = FrozenConvolution(nn.Conv2d(1, 2, 3, stride=2), nn.BatchNorm2d(2), relu6=True)
    >>> with torch.no_grad():
    ...     print(convolution(torch.zeros(1, 1, 4, 6)).shape)
    torch.Size([1, 2, 2, 3])
    """

    def __init__(self, convolution: nn.Conv2d, norm: nn.BatchNorm2d, relu6: bool) -> None:
        super().__init__()
        folded = fuse_conv_bn_eval(convolution.eval(), norm.eval()).requires_grad_(False)
        stride, zeros = int(folded.stride[0]), int(folded.kernel_size[0]) - int(folded.stride[0])
        begin, end = zeros // 2, zeros - zeros // 2
        weight = functional.pad(folded.weight, (end - begin, 0, end - begin, 0))
        self.weight = nn.Parameter(weight.contiguous(memory_format=torch.channels_last), requires_grad=False)
        self.bias, self.relu6 = folded.bias, relu6
        self._geometry = (end, end), (stride, stride), (1, 1), folded.groups
        self._arranged: tuple[tuple[int, int], Tensor] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_arranged": None}  # oneDNN's own format cannot be copied or written

    def forward(self, maps: Tensor, skip: Tensor | None = None) -> Tensor:
        """``skip`` [N, C', H/s, W/s] may be overwritten with the result."""
        fits = maps.device.type == "cpu" and maps.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
        return self.in_one_pass(maps, skip) if fits and one_pass_works() else self.by_steps(maps, skip)

    def by_steps(self, maps: Tensor, skip: Tensor | None = None) -> Tensor:
        """With public operations, on any device, at any precision."""
        padding, stride, dilation, groups = self._geometry
        made = functional.conv2d(maps, self.weight, self.bias, stride, padding, dilation, groups)
        if self.relu6:
            made = functional.relu6(made, inplace=True)
        return made if skip is None else made.add_(skip)

    def in_one_pass(self, maps: Tensor, skip: Tensor | None = None) -> Tensor:
        """With oneDNN's fused operations, float32 on the CPU."""
        given = maps, self._arranged_for(maps), self.bias, *self._geometry
        made: Tensor
        if skip is not None:
            made = torch.ops.mkldnn._convolution_pointwise_.binary(skip, *given, "add", 1.0, None, [], None)
        else:
            after = ("hardtanh", [0.0, 6.0]) if self.relu6 else ("none", [])
            made = torch.ops.mkldnn._convolution_pointwise(*given, *after, "")
        return made

    def _arranged_for(self, maps: Tensor) -> Tensor:
        """The weights in the order the kernel reads them: arranged once, where a plain call does it every time."""
        version = self.weight.data_ptr(), self.weight._version
        if self._arranged is None or self._arranged[0] != version:
            arranged = torch.ops.mkldnn._reorder_convolution_weight(self.weight, *self._geometry, list(maps.shape))
            self._arranged = version, arranged
        return self._arranged[1]


@cache
def one_pass_works() -> bool:
    """Whether the fused operations, no public ones, are in this PyTorch and say what the plain ones say."""
    with torch.no_grad():
        maps = torch.linspace(-8, 8, 2 * 8 * 8 * 8).view(2, 8, 8, 8).contiguous(memory_format=torch.channels_last)
        with torch.device("meta"):  # no random numbers drawn
            plain = nn.Conv2d(8, 8, 3, groups=8, bias=False)
        plain.weight = nn.Parameter(torch.linspace(-1, 1, 72).view(8, 1, 3, 3))
        convolution = FrozenConvolution(plain, nn.BatchNorm2d(8), relu6=True)
        linear = FrozenConvolution(plain, nn.BatchNorm2d(8), relu6=False)
        try:
            return torch.allclose(
                linear.in_one_pass(convolution.in_one_pass(maps), maps.clone()),
                linear.by_steps(convolution.by_steps(maps), maps),
                rtol=1e-4,
                atol=1e-4,
            )
        except (AttributeError, NotImplementedError, RuntimeError, TypeError):
            return False
