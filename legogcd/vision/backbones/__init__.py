"""Pretrained networks by name, cut into a frozen trunk and a trained tail."""

import os
from pathlib import Path

from legogcd.errors import UserError
from legogcd.vision.backbones.backbone import Backbone, Normalization, Trunk
from legogcd.vision.backbones.known import KNOWN_BACKBONES, KnownBackbone

__all__ = [
    "KNOWN_BACKBONES",
    "Backbone",
    "KnownBackbone",
    "Normalization",
    "Trunk",
    "family_of",
    "load_backbone",
]

BUILT_IN = "efficientnet-lite0"
_CHECKPOINTS = (".pth", ".pt")


def load_backbone(name: str | os.PathLike[str], image_size: int = 224, train_blocks: int = 1) -> Backbone:
    """A backbone by name: ``efficientnet-lite0`` (built in), a DINO ``.pth`` file, a model folder, or a hub id.

    ``image_size`` is the side of the views that will be taken; ``train_blocks`` how many of the last blocks the
    tail trains. What is already in the Hugging Face cache is used without asking the hub.

    >>> backbone = load_backbone("efficientnet-lite0", image_size=96)
    >>> backbone.family, backbone.dim, backbone.state_names
    ('efficientnet', 1280, ('map',))
    """
    name = os.fspath(name)
    if family_of(name) == "efficientnet":
        from legogcd.vision.backbones.efficientnet import load_efficientnet

        return load_efficientnet(image_size, train_blocks)
    path = Path(name or "no name").expanduser()
    if path.is_dir():
        from legogcd.vision.backbones.vit import load_folder

        return load_folder(path, name, image_size, train_blocks)
    if path.is_file() and path.suffix in _CHECKPOINTS:
        from legogcd.vision.backbones.dino import load_checkpoint

        return load_checkpoint(path, image_size, train_blocks)
    if path.exists() or _looks_like_a_path(name):
        raise UserError(
            f"backbone {name!r}: {'not a .pth file or a model folder' if path.exists() else 'no such file or folder'}"
        )
    from legogcd.vision.backbones.hub import fetch
    from legogcd.vision.backbones.vit import load_folder

    return load_folder(fetch(name), name, image_size, train_blocks)


def family_of(name: str | os.PathLike[str]) -> str:
    """``efficientnet`` or ``vit``, from the name alone.

    >>> family_of("facebook/dino-vitb16")
    'vit'
    """
    return "efficientnet" if os.fspath(name) == BUILT_IN else "vit"


def _looks_like_a_path(name: str) -> bool:
    return name.startswith((".", "~", os.sep)) or name.endswith(_CHECKPOINTS) or name.count("/") > 1 or not name
