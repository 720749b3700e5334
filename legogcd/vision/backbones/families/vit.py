"""Vision transformers: of the hub, in folders, and in DINO's own files. A name that no other family has is theirs."""

import os
from pathlib import Path

from legogcd.errors import UserError
from legogcd.vision.backbones.families.family import Family, KnownBackbone, register

CHECKPOINTS = (".pth", ".pt")


def check_name(name: str, image_size: int) -> None:
    """Refuse a file that is none, or no weights, before anything is loaded or asked of the hub."""
    path = Path(name or "no name").expanduser()
    if path.is_dir() or (path.is_file() and path.suffix in CHECKPOINTS):
        return
    if path.exists() or _looks_like_a_path(name):
        raise UserError(
            f"backbone {name!r}: {'not a .pth file or a model folder' if path.exists() else 'no such file or folder'}"
        )


def _looks_like_a_path(name: str) -> bool:
    return name.startswith((".", "~", os.sep)) or name.endswith(CHECKPOINTS) or name.count("/") > 1 or not name


def _known(name: str, dim: int, description: str, offline: bool = False) -> KnownBackbone:
    return KnownBackbone(name, "vit", dim, description, offline)


register(
    Family(
        "vit",
        recognizes=lambda name: True,
        load="legogcd.vision.backbones.vit:load_vit",
        check=check_name,
        known=(
            _known("facebook/dino-vitb16", 768, "DINO ViT-B/16, the paper's backbone"),
            _known("facebook/dino-vits16", 384, "DINO ViT-S/16, a quarter of the cost"),
            _known("facebook/dinov2-small", 384, "DINOv2 ViT-S/14, what `auto` takes on a CPU"),
            _known("facebook/dinov2-base", 768, "DINOv2 ViT-B/14, what `auto` takes on a GPU"),
            _known("facebook/dinov2-with-registers-base", 768, "DINOv2 ViT-B/14 with register tokens"),
            _known("facebook/dinov3-vitb16-pretrain-lvd1689m", 768, "DINOv3 ViT-B/16 (terms on the hub)"),
            _known("facebook/vit-msn-base", 768, "MSN ViT-B/16, self-supervised"),
            _known("facebook/deit-base-distilled-patch16-224", 768, "DeiT-B/16, supervised and distilled"),
            _known("google/vit-base-patch16-224-in21k", 768, "ViT-B/16, supervised on ImageNet-21k"),
            _known("openai/clip-vit-base-patch16", 768, "CLIP's image tower, ViT-B/16"),
            _known("path/to/dino_vitbase16_pretrain.pth", 768, "a file in DINO's own layout, any size", True),
            _known("path/to/folder", 768, "a model folder as transformers saves it, any size", True),
        ),
        # a block at the heads' rate moves away from where the prototypes start (docs/accuracy.md); longer, to be safe
        photo_defaults={"epochs": 30, "tail_rate": 0.1},
        takes_the_rest=True,
    )
)
