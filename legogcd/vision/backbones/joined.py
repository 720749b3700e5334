"""Several EfficientNets side by side, joined by name as in ``lite0+lite1``: each is wrong about other things."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from legogcd.vision.backbones.backbone import Backbone, Trunk, digest
from legogcd.vision.backbones.efficientnet import NORMALIZATION, ConvTrunk, load_efficientnet
from legogcd.vision.backbones.families.efficientnet import STRIDE
from legogcd.vision.backbones.families.joined import PREFIX, Part, parts_of
from legogcd.vision.tail import FrozenModeModule, State, TailInput


class JoinedTrunk(Trunk):
    """The trunks of all parts over the same views, each at its own ``sides``; their states stand one behind the other.

    The views come as wide as the widest of them; for the others they are made smaller.
    """

    patch, views_at_once, revision = STRIDE, ConvTrunk.views_at_once, ConvTrunk.revision

    def __init__(self, trunks: Iterable[Trunk], sides: Sequence[int]) -> None:
        super().__init__()
        self.parts, self.sides = nn.ModuleList(trunks), tuple(sides)

    def encode(self, images: Tensor) -> State:
        widest = max(self.sides)
        seen = {side: at_side(images, round(images.shape[-1] * side / widest)) for side in self.sides}
        parts = zip(self.parts, self.sides, strict=True)
        return tuple(tensor for part, side in parts for tensor in part(seen[side]))


def at_side(images: Tensor, side: int) -> Tensor:
    """Square images [N, 3, S, S] as wide as ``side``; untouched where they are.

    >>> at_side(torch.ones(1, 3, 8, 8), 4).shape
    torch.Size([1, 3, 4, 4])
    """
    if images.shape[-1] == side:
        return images
    return functional.interpolate(images, (side, side), mode="bilinear", antialias=True, align_corners=False)


class JoinedTail(FrozenModeModule):
    """The features of all parts at length 1, one behind the other: each has as much to say."""

    def __init__(self, tails: Iterable[nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(tails)

    def train(self, mode: bool = True) -> "JoinedTail":
        nn.Module.train(self, mode)  # every part keeps its own frozen parts
        return self

    def forward(self, state: TailInput) -> Tensor:
        """Features [N, parts · D]."""
        features = [part((kept,)) for part, kept in zip(self.parts, state, strict=True)]
        return torch.cat([functional.normalize(feature, dim=-1) for feature in features], dim=-1)


def load_joined(name: str, image_size: int = 224, train_blocks: int = 1) -> Backbone:
    """All networks that ``name`` names; ``train_blocks`` counts in each, ``image_size`` is that of those that say none.

    >>> load_joined("lite0+lite1@256").image_size
    256
    """
    said = parts_of(name)
    sides = [part.side(image_size) for part in said]
    parts = [load_efficientnet(part.name, side, train_blocks) for part, side in zip(said, sides, strict=True)]
    settings: Mapping[str, Any] = {"joined": [part.fingerprint() for part in parts]}
    return Backbone(
        JoinedTrunk(_trunks(parts), sides),
        JoinedTail(part.tail for part in parts),
        name="+".join(_short(part) for part in said),
        family="joined",
        dim=sum(part.dim for part in parts),
        image_size=max(sides),
        train_blocks=train_blocks,
        normalization=NORMALIZATION,
        state={f"{part.name} map": half for part in parts for half in part.half},
        fingerprint=digest({}, {**settings, "sides": sides} if len(set(sides)) > 1 else settings),
    )


def _short(part: Part) -> str:
    return part.name.removeprefix(PREFIX) + (f"@{part.size}" if part.size else "")


def _trunks(parts: Sequence[Backbone]) -> list[Trunk]:
    trunks = [part.trunk for part in parts]
    assert all(isinstance(trunk, Trunk) for trunk in trunks)
    return trunks
