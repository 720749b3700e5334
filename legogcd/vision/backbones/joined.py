"""Several EfficientNets side by side, joined by name as in ``lite0+lite1``: each is wrong about other things."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from legogcd.vision.backbones.backbone import Backbone, Trunk, digest
from legogcd.vision.backbones.efficientnet import NORMALIZATION, ConvTrunk, load_efficientnet
from legogcd.vision.backbones.families.efficientnet import STRIDE
from legogcd.vision.backbones.families.joined import PREFIX, parts_of
from legogcd.vision.tail import FrozenModeModule, State, TailInput


class JoinedTrunk(Trunk):
    """The trunks of all parts over the same views; their states stand one behind the other."""

    patch, views_at_once, revision = STRIDE, ConvTrunk.views_at_once, ConvTrunk.revision

    def __init__(self, trunks: Iterable[Trunk]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(trunks)

    def encode(self, images: Tensor) -> State:
        return tuple(tensor for part in self.parts for tensor in part(images))


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
    """All networks that ``name`` names; ``train_blocks`` counts in each of them."""
    names = parts_of(name)
    parts = [load_efficientnet(part, image_size, train_blocks) for part in names]
    return Backbone(
        JoinedTrunk(_trunks(parts)),
        JoinedTail(part.tail for part in parts),
        name="+".join(part.removeprefix(PREFIX) for part in names),
        family="joined",
        dim=sum(part.dim for part in parts),
        image_size=image_size,
        train_blocks=train_blocks,
        normalization=NORMALIZATION,
        state={f"{part.name} map": half for part in parts for half in part.half},
        fingerprint=digest({}, {"joined": [part.fingerprint() for part in parts]}),
    )


def _trunks(parts: Sequence[Backbone]) -> list[Trunk]:
    trunks = [part.trunk for part in parts]
    assert all(isinstance(trunk, Trunk) for trunk in trunks)
    return trunks
