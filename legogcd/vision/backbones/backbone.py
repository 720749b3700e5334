"""What every family gives: a frozen trunk, a trained tail, and what the views before them must look like."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from legogcd.errors import UserError
from legogcd.vision.tail import State

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
Channels = tuple[float, float, float]


@dataclass(frozen=True)
class Normalization:
    """(pixel − mean) / std by channel, for pixels in 0..1."""

    mean: Channels = IMAGENET_MEAN
    std: Channels = IMAGENET_STD


class Trunk(nn.Module):
    """The frozen part: never a gradient, always in evaluation mode. Families override ``encode``."""

    patch: int
    views_at_once = 8  # in one call on a CPU: enough to reuse the weights, and maps of few views stay in its caches
    revision = 1  # goes up where a faster way to the same numbers changes their last digits: kept views never mix

    def train(self, mode: bool = True) -> "Trunk":
        return super().train(False)

    @torch.no_grad()
    def forward(self, images: Tensor) -> State:
        """Normalised images [N, 3, H, W] -> what the tail needs of them."""
        height, width = images.shape[-2:]
        if height % self.patch or width % self.patch:
            raise UserError(f"images of {height}×{width} pixels: both sides must be multiples of {self.patch}")
        return self.encode(images)

    def encode(self, images: Tensor) -> State:
        raise NotImplementedError


class Backbone(nn.Module):
    """A pretrained network cut in two: ``trunk(images)`` is worth keeping, ``tail(state)`` is trained.

    ``state_names`` names the state's tensors; ``half`` says which of them lose nothing that matters in half precision.

    >>> from legogcd.vision import load_backbone
    >>> backbone = load_backbone("efficientnet-lite0")
    >>> state = backbone.trunk(torch.zeros(2, 3, 224, 224))
    >>> [(name, *tensor.shape) for name, tensor in zip(backbone.state_names, state)]
    [('map', 2, 7, 7, 320)]
    >>> backbone.tail(state).shape
    torch.Size([2, 1280])
    """

    half: tuple[bool, ...]  # type: ignore[assignment]  # a state's property here; casting is `to`'s job

    def __init__(
        self,
        trunk: Trunk,
        tail: nn.Module,
        *,
        name: str,
        family: str,
        dim: int,
        image_size: int,
        train_blocks: int,
        normalization: Normalization,
        state: Mapping[str, bool],
        fingerprint: str,
    ) -> None:
        super().__init__()
        self.trunk, self.tail = trunk.requires_grad_(False).eval(), tail
        self.name, self.family, self.dim = name, family, dim
        self.image_size, self.train_blocks = image_size, train_blocks
        self.mean, self.std = normalization.mean, normalization.std
        self.state_names, self.half = tuple(state), tuple(state.values())
        self._fingerprint = fingerprint

    def forward(self, images: Tensor) -> Tensor:
        """Normalised images [N, 3, H, W] -> features [N, dim]."""
        return self.tail(self.trunk(images))  # type: ignore[no-any-return]

    def fingerprint(self) -> str:
        """A digest of the weights as they were loaded and of the settings that shape the state."""
        return self._fingerprint


def digest(weights: Mapping[str, Tensor], settings: Mapping[str, Any]) -> str:
    """SHA-256 over names, types, shapes and bytes of weights, and over settings; order does not matter.

    >>> one, other = {"w": torch.zeros(2)}, {"w": torch.tensor([0.0, 1e-30])}
    >>> digest(one, {}) == digest(other, {})
    False
    """
    total = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for name in sorted(weights):
        tensor = weights[name].detach().cpu().contiguous()
        total.update(f"\n{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def check_train_blocks(name: str, train_blocks: int, available: int) -> None:
    if not 1 <= train_blocks <= available:
        raise UserError(f"train_blocks = {train_blocks}: {name} can train 1 to {available} of its last blocks")
