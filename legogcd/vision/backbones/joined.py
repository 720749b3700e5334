"""Several EfficientNets side by side, joined by name as in ``lite0+lite1``: each is wrong about other things."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from legogcd.errors import UserError
from legogcd.vision.backbones.backbone import Backbone, Trunk, check_image_size, digest
from legogcd.vision.backbones.efficientnet import DIM, NAMES, NORMALIZATION, STRIDE, ConvTrunk, load_efficientnet
from legogcd.vision.backbones.families import Family, KnownBackbone, family_defaults, register
from legogcd.vision.tail import FrozenModeModule, State, TailInput

_PREFIX = "efficientnet-"


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


def parts_of(name: str) -> list[str]:
    """The networks that a joined name names, in full; none where it names something else.

    >>> parts_of("lite0+lite1"), parts_of("efficientnet-lite0"), parts_of("lite0+other/model")
    (['efficientnet-lite0', 'efficientnet-lite1'], [], [])
    """
    parts = [_PREFIX + part.strip().removeprefix(_PREFIX) for part in name.split("+")]
    return parts if len(parts) > 1 and all(part in NAMES for part in parts) else []


def load_joined(name: str, image_size: int = 224, train_blocks: int = 1) -> Backbone:
    """All networks that ``name`` names; ``train_blocks`` counts in each of them."""
    names = parts_of(name)
    if len(set(names)) < len(names):
        raise UserError(f"backbone {name!r} names a network twice")
    check_image_size(name, image_size, STRIDE)
    parts = [load_efficientnet(part, image_size, train_blocks) for part in names]
    return Backbone(
        JoinedTrunk(_trunks(parts)),
        JoinedTail(part.tail for part in parts),
        name="+".join(part.removeprefix(_PREFIX) for part in names),
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


register(
    Family(
        "joined",
        recognizes=lambda name: bool(parts_of(name)),
        load=load_joined,
        known=(KnownBackbone("lite0+lite1", "joined", 2 * DIM, "two EfficientNets side by side", True),),
        photo_defaults=family_defaults("efficientnet"),
    )
)
