"""A convolution of a frozen trunk with what surrounds it, padding, batch norm and ReLU6, in one pass over its maps.

A small convolution network on a CPU waits for memory more than for arithmetic: every pass over a map that is left out
counts, and so does the order in which a map's numbers lie. oneDNN does all of this while the numbers are still in
registers, on maps in an order of its own choice that only it can read; elsewhere plain operations do the same.
"""

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval


def turned(images: Tensor) -> Tensor:
    """Images [N, C, H, W] as the convolutions take them: turned by 180 degrees, in oneDNN's order where it works."""
    around = images.flip(2, 3)
    plain = images.device.type == "cpu" and images.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
    if plain and one_pass_works():
        return around.to_mkldnn()
    return around.contiguous(memory_format=torch.channels_last)


def turned_back(maps: Tensor) -> Tensor:
    """What the convolutions made, the right way round and with the channels last: [N, C, H, W] -> [N, H, W, C]."""
    dense = maps.to_dense() if maps.is_mkldnn else maps
    return dense.permute(0, 2, 3, 1).flip(1, 2).contiguous()


class FrozenConvolution(nn.Module):
    """ReLU6(norm(w ∗ x)), or norm(w ∗ x), for turned maps: [N, C, H, W] -> [N, C', H/s, W/s]; s divides H and W.

    Around a map are k − s zeros along each side, the odd one at its end ("same" in TensorFlow). oneDNN pads both ends
    alike, and a stride leaves the last zero out: the odd one is at the beginning. That is the same for maps and kernels
    turned by 180 degrees, so maps need not be copied into larger ones, nor kernels widened.

    >>> convolution = FrozenConvolution(nn.Conv2d(1, 2, 3, stride=2), nn.BatchNorm2d(2), relu6=True)
    >>> with torch.no_grad():
    ...     print(convolution(turned(torch.zeros(1, 1, 4, 6))).shape)
    torch.Size([1, 2, 2, 3])
    """

    def __init__(self, convolution: nn.Conv2d, norm: nn.BatchNorm2d, relu6: bool) -> None:
        super().__init__()
        folded = fuse_conv_bn_eval(convolution.eval(), norm.eval()).requires_grad_(False)
        self.weight = nn.Parameter(folded.weight.flip(2, 3), requires_grad=False)
        self.bias, self.relu6 = folded.bias, relu6
        around, stride = int(folded.kernel_size[0]) // 2, int(folded.stride[0])
        self._geometry = (around, around), (stride, stride), (1, 1), folded.groups

    def forward(self, maps: Tensor) -> Tensor:
        return self.in_one_pass(maps) if maps.is_mkldnn else self.by_steps(maps)

    def by_steps(self, maps: Tensor) -> Tensor:
        """With public operations, on any device, at any precision."""
        padding, stride, dilation, groups = self._geometry
        made = functional.conv2d(maps, self.weight, self.bias, stride, padding, dilation, groups)
        return functional.relu6(made, inplace=True) if self.relu6 else made

    def in_one_pass(self, maps: Tensor) -> Tensor:
        """With oneDNN's fused operation, float32 on the CPU, on maps in its own order."""
        after = ("hardtanh", [0.0, 6.0]) if self.relu6 else ("none", [])
        made: Tensor = torch.ops.mkldnn._convolution_pointwise.default(
            maps, self.weight, self.bias, *self._geometry, *after, ""
        )
        return made


@cache
def one_pass_works() -> bool:
    """Whether the fused operation, no public one, is in this PyTorch and says what the plain ones say."""
    with torch.no_grad():
        maps = torch.linspace(-8, 8, 2 * 8 * 8 * 8).view(2, 8, 8, 8)
        with torch.device("meta"):  # no random numbers drawn
            plain = nn.Conv2d(8, 8, 3, groups=8, bias=False)
        plain.weight = nn.Parameter(torch.linspace(-1, 1, 72).view(8, 1, 3, 3))
        convolution = FrozenConvolution(plain, nn.BatchNorm2d(8), relu6=True)
        linear = FrozenConvolution(plain, nn.BatchNorm2d(8), relu6=False)
        try:
            made = linear.in_one_pass(convolution.in_one_pass(maps.to_mkldnn())).add_(maps.to_mkldnn()).to_dense()
            return torch.allclose(made, linear.by_steps(convolution.by_steps(maps)) + maps, rtol=1e-4, atol=1e-4)
        except (AttributeError, NotImplementedError, RuntimeError, TypeError):
            return False
