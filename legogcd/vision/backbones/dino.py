"""DINO's own checkpoint layout (.pth): a state dict of its VisionTransformer, or a training checkpoint around one."""

import argparse
import math
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from legogcd.errors import UserError
from legogcd.vision.backbones.backbone import Backbone, Normalization
from legogcd.vision.backbones.vit import MODEL_TYPES, cut

HEAD_DIM = 64  # of every DINO vision transformer; the layout does not store it
_WRAPPERS = ("teacher", "student", "state_dict", "model")  # the teacher is the better network
_PREFIXES = ("module.", "backbone.")
_RENAMED = {  # ours: theirs
    "embeddings.cls_token": "cls_token",
    "embeddings.position_embeddings": "pos_embed",
    "embeddings.patch_embeddings.projection": "patch_embed.proj",
    "layernorm": "norm",
}
_RENAMED_IN_BLOCK = {
    "layernorm_before": "norm1",
    "attention.o_proj": "attn.proj",
    "layernorm_after": "norm2",
    "mlp.fc1": "mlp.fc1",
    "mlp.fc2": "mlp.fc2",
}


class DinoEmbedding(nn.Module):
    """ViT's embedding with positions interpolated as DINO does: bicubic, each side scaled by (n + 0.1) / n₀."""

    def __init__(self, embeddings: nn.Module) -> None:
        super().__init__()
        self.embeddings = embeddings

    def forward(self, images: Tensor) -> Tensor:
        embeddings: Any = self.embeddings
        patches = embeddings.patch_embeddings(images)  # [N, P, D]
        cls = embeddings.cls_token.expand(len(images), -1, -1)
        patch = embeddings.patch_embeddings.patch_size[0]
        rows, columns = images.shape[-2] // patch, images.shape[-1] // patch
        return torch.cat([cls, patches], dim=1) + interpolated(embeddings.position_embeddings, rows, columns)


def interpolated(stored: Tensor, rows: int, columns: int) -> Tensor:
    """Positions [1, 1 + n₀², D], the CLS token's first, for a grid of rows × columns patches."""
    side = math.isqrt(stored.shape[1] - 1)
    if rows == columns == side:
        return stored
    grid = stored[:, 1:].reshape(1, side, side, -1).permute(0, 3, 1, 2)  # [1, D, n₀, n₀]
    scale = ((rows + 0.1) / side, (columns + 0.1) / side)  # the 0.1 keeps rounding from losing a row
    grid = functional.interpolate(grid, scale_factor=scale, mode="bicubic")
    return torch.cat([stored[:, :1], grid.flatten(2).transpose(1, 2)], dim=1)


def load_checkpoint(path: Path, image_size: int, train_blocks: int) -> Backbone:
    """A ``.pth`` or ``.pt`` file in DINO's layout; sizes are read off its tensors."""
    from transformers import ViTModel

    weights = _unwrapped(_read(path), path)
    if any(".ls1." in name or "gamma" in name for name in weights):
        raise UserError(f"{path} is in DINOv2's layout; give the same model as a transformers folder or hub id")
    config = _config(weights, path)
    with torch.device("meta"):
        model = ViTModel(config, add_pooling_layer=False)
    try:
        model.load_state_dict(_renamed(weights, path, config), assign=True)
    except RuntimeError as error:
        raise UserError(f"{path} does not fit DINO's layout: {' '.join(str(error).split())[:200]}") from error
    return cut(
        model,
        MODEL_TYPES["vit"],
        DinoEmbedding(model.embeddings),
        config.patch_size,
        str(path),
        image_size,
        train_blocks,
        Normalization(),
        positions="dino",
    )


def _read(path: Path) -> Any:
    try:
        with warnings.catch_warnings(), torch.serialization.safe_globals([argparse.Namespace]):
            warnings.simplefilter("ignore")  # about old formats; the namespace is a training checkpoint's arguments
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise UserError(f"{path} cannot be read as PyTorch weights (damaged, or more than tensors in it)") from error


def _unwrapped(content: Any, path: Path) -> dict[str, Tensor]:
    for wrapper in _WRAPPERS:
        if isinstance(content, Mapping) and isinstance(content.get(wrapper), Mapping):
            content = content[wrapper]
    if not isinstance(content, Mapping):
        raise UserError(f"{path} holds no state dict in DINO's layout")
    weights = {_bare(str(name)): tensor for name, tensor in content.items() if isinstance(tensor, Tensor)}
    return {name: tensor.float() for name, tensor in weights.items() if not name.startswith("head.")}


def _bare(name: str) -> str:
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name


def _config(weights: Mapping[str, Tensor], path: Path) -> Any:
    from transformers import ViTConfig

    blocks = {int(found[1]) for name in weights if (found := re.match(r"blocks\.(\d+)\.", name))}
    projection, positions = _of(weights, "patch_embed.proj.weight", path), _of(weights, "pos_embed", path)
    dim, channels, patch = projection.shape[0], projection.shape[1], projection.shape[-1]
    side = math.isqrt(positions.shape[1] - 1)
    if channels != 3 or dim % HEAD_DIM or side * side != positions.shape[1] - 1:
        raise UserError(
            f"{path}: {channels} channels, {dim} dimensions and {positions.shape[1]} positions are not a DINO model's "
            f"(3, a multiple of {HEAD_DIM}, a square and 1)"
        )
    return ViTConfig(
        hidden_size=dim,
        num_hidden_layers=max(blocks, default=0) + 1,
        num_attention_heads=dim // HEAD_DIM,
        intermediate_size=_of(weights, "blocks.0.mlp.fc1.weight", path).shape[0],
        image_size=side * patch,
        patch_size=patch,
        layer_norm_eps=1e-6,
        qkv_bias="blocks.0.attn.qkv.bias" in weights,
    )


def _renamed(weights: Mapping[str, Tensor], path: Path, config: Any) -> dict[str, Tensor]:
    """The tensors under transformers' names, the joint qkv matrix split in three."""
    ours: dict[str, Tensor] = {}
    for name, theirs in _RENAMED.items():
        kinds = (".weight", ".bias") if "embeddings." not in name or "projection" in name else ("",)
        ours |= {f"{name}{kind}": _of(weights, f"{theirs}{kind}", path) for kind in kinds}
    for layer in range(config.num_hidden_layers):
        block = f"blocks.{layer}"
        for name, theirs in _RENAMED_IN_BLOCK.items():
            for kind in (".weight", ".bias"):
                ours[f"layers.{layer}.{name}{kind}"] = _of(weights, f"{block}.{theirs}{kind}", path)
        for kind in (".weight", ".bias") if config.qkv_bias else (".weight",):
            joint = _of(weights, f"{block}.attn.qkv{kind}", path)
            for part, tensor in zip("qkv", joint.chunk(3), strict=True):
                ours[f"layers.{layer}.attention.{part}_proj{kind}"] = tensor.clone()
    return ours


def _of(weights: Mapping[str, Tensor], name: str, path: Path) -> Tensor:
    if name not in weights:
        raise UserError(f"{path} has no {name}: expected DINO's layout (cls_token, pos_embed, blocks.0.attn.qkv, …)")
    return weights[name]
