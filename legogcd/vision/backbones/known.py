"""Backbones worth naming in a listing; any other hub id of the same model types works too."""

from dataclasses import dataclass


@dataclass(frozen=True)
class KnownBackbone:
    """One line of a listing; ``offline`` says whether it works without ever having been online."""

    name: str
    family: str
    dim: int
    description: str
    offline: bool = False


KNOWN_BACKBONES: tuple[KnownBackbone, ...] = (
    KnownBackbone("efficientnet-lite0", "efficientnet", 1280, "ImageNet-trained CNN, small and fast; built in", True),
    KnownBackbone("facebook/dino-vitb16", "vit", 768, "DINO ViT-B/16, the paper's backbone"),
    KnownBackbone("facebook/dino-vits16", "vit", 384, "DINO ViT-S/16, a quarter of the cost"),
    KnownBackbone("facebook/dinov2-base", "vit", 768, "DINOv2 ViT-B/14"),
    KnownBackbone("facebook/dinov2-with-registers-base", "vit", 768, "DINOv2 ViT-B/14 with register tokens"),
    KnownBackbone("facebook/dinov3-vitb16-pretrain-lvd1689m", "vit", 768, "DINOv3 ViT-B/16 (terms on the hub)"),
    KnownBackbone("facebook/vit-msn-base", "vit", 768, "MSN ViT-B/16, self-supervised"),
    KnownBackbone("facebook/deit-base-distilled-patch16-224", "vit", 768, "DeiT-B/16, supervised and distilled"),
    KnownBackbone("google/vit-base-patch16-224-in21k", "vit", 768, "ViT-B/16, supervised on ImageNet-21k"),
    KnownBackbone("openai/clip-vit-base-patch16", "vit", 768, "CLIP's image tower, ViT-B/16"),
    KnownBackbone("path/to/dino_vitbase16_pretrain.pth", "vit", 768, "a file in DINO's own layout, any size", True),
    KnownBackbone("path/to/folder", "vit", 768, "a model folder as transformers saves it, any size", True),
)
