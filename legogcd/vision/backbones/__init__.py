"""Pretrained networks by name, cut into a frozen trunk and a trained tail. One file per family, found by itself.

What the families are called and know is there without torch; networks are loaded when they are asked for.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from legogcd.vision.backbones.families import FAMILIES, Family, KnownBackbone, family_defaults, family_for, in_turn

if TYPE_CHECKING:
    from legogcd.vision.backbones.backbone import Backbone, Normalization, Trunk

__all__ = [
    "FAMILIES",
    "KNOWN_BACKBONES",
    "Backbone",
    "Family",
    "KnownBackbone",
    "Normalization",
    "Trunk",
    "check_backbone",
    "family_defaults",
    "family_of",
    "load_backbone",
]

KNOWN_BACKBONES: tuple[KnownBackbone, ...] = tuple(known for family in in_turn() for known in family.known)
"""Backbones worth naming in a listing; any other hub id of the same model types works too."""


def check_backbone(name: str | os.PathLike[str], image_size: int) -> None:
    """Refuse a name and an image size that cannot work, as far as that is seen without loading anything."""
    family_for(os.fspath(name)).check(os.fspath(name), image_size)


def load_backbone(name: str | os.PathLike[str], image_size: int = 224, train_blocks: int = 1) -> "Backbone":
    """A backbone by name: ``efficientnet-lite0`` (built in), a DINO ``.pth`` file, a model folder, or a hub id.

    ``image_size`` is the side of the views that will be taken; ``train_blocks`` how many of the last blocks the
    tail trains. What is already in the Hugging Face cache is used without asking the hub.

    >>> backbone = load_backbone("efficientnet-lite0", image_size=96)
    >>> backbone.family, backbone.dim, backbone.state_names
    ('efficientnet', 1280, ('map',))
    """
    name = os.fspath(name)
    return family_for(name).loaded(name, image_size, train_blocks)


def family_of(name: str | os.PathLike[str]) -> str:
    """The name of a backbone's family, from the backbone's name alone.

    >>> family_of("facebook/dino-vitb16")
    'vit'
    """
    return family_for(os.fspath(name)).name


def __getattr__(name: str) -> Any:
    if name in ("Backbone", "Normalization", "Trunk"):
        return getattr(import_module(f"{__name__}.backbone"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
