"""Vision transformers through transformers: DINO, ViT, DeiT, MSN, DINOv2 (with registers or not), DINOv3, CLIP."""

import copy
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional

from legogcd.errors import UserError
from legogcd.vision.attention import at_least_float32
from legogcd.vision.backbones.backbone import (
    Backbone,
    Channels,
    Normalization,
    Trunk,
    check_image_size,
    check_train_blocks,
    digest,
)
from legogcd.vision.backbones.hub import CONFIG, OFFLINE_HINT, PREPROCESSORS, WEIGHTS, quiet
from legogcd.vision.tail import BlockNames, RotaryViTTail, State, ViTTail

_VIT = BlockNames(norm1="layernorm_before", attention="attention", out="o_proj", norm2="layernorm_after")
_DINOV2 = BlockNames(norm1="norm1", attention="attention", out="o_proj", norm2="norm2")
_CLIP = BlockNames(norm1="layer_norm1", attention="self_attn", out="out_proj", norm2="layer_norm2")


@dataclass(frozen=True)
class Family:
    """Where a model class keeps what trunk and tail are made of."""

    config: str
    model: str
    names: BlockNames
    layers: str
    norm: str
    interpolates: bool = False  # positions follow the image size only if told to
    options: tuple[tuple[str, Any], ...] = ()
    first_norm: str | None = None
    rotary: str | None = None


_NO_POOLER = (("add_pooling_layer", False),)
_CLIP_VISION = Family(
    "CLIPVisionConfig", "CLIPVisionModel", _CLIP, "encoder.layers", "post_layernorm", True, first_norm="pre_layrnorm"
)
FAMILIES = {  # by a configuration's model_type
    "vit": Family("ViTConfig", "ViTModel", _VIT, "layers", "layernorm", True, _NO_POOLER),
    "deit": Family("DeiTConfig", "DeiTModel", _VIT, "layers", "layernorm", True, _NO_POOLER),
    "vit_msn": Family("ViTMSNConfig", "ViTMSNModel", _VIT, "layers", "layernorm", True),
    "dinov2": Family("Dinov2Config", "Dinov2Model", _DINOV2, "encoder.layer", "layernorm"),
    "dinov2_with_registers": Family(
        "Dinov2WithRegistersConfig", "Dinov2WithRegistersModel", _DINOV2, "encoder.layer", "layernorm"
    ),
    "dinov3_vit": Family("DINOv3ViTConfig", "DINOv3ViTModel", _DINOV2, "model.layer", "norm", rotary="rope_embeddings"),
    "clip": _CLIP_VISION,
    "clip_vision_model": _CLIP_VISION,
}
_SHAPING = (  # settings that change what the same weights compute
    "model_type",
    "hidden_act",
    "num_attention_heads",
    "layer_norm_eps",
    "patch_size",
    "image_size",
    "rope_theta",
    "use_swiglu_ffn",
    "use_gated_mlp",
)


class Embedding(nn.Module):
    """Pixels to the first residual tokens, positions interpolated by the model's own code."""

    def __init__(self, embeddings: nn.Module, interpolates: bool, norm: nn.Module | None = None) -> None:
        super().__init__()
        self.embeddings, self.norm = embeddings, norm
        self._told = {"interpolate_pos_encoding": True} if interpolates else {}

    def forward(self, images: Tensor) -> Tensor:
        tokens: Tensor = self.embeddings(images, **self._told)  # [N, T, D]
        return tokens if self.norm is None else self.norm(tokens)


class ViTTrunk(Trunk):
    """Embedding and all layers but the trained ones; with ``eps``, normalises for the one block that remains."""

    def __init__(
        self, embedding: nn.Module, layers: Sequence[nn.Module], patch: int, rotary: nn.Module | None, eps: float | None
    ) -> None:
        super().__init__()
        self.embedding, self.layers, self.rotary = embedding, nn.ModuleList(layers), rotary
        self.patch, self._eps = patch, eps

    def encode(self, images: Tensor) -> State:
        tokens = self.embedding(images)  # [N, T, D]
        position = {} if self.rotary is None else {"position_embeddings": self.rotary(images)}
        for layer in self.layers:
            tokens = layer(tokens, attention_mask=None, **position)
        tokens = tokens.to(at_least_float32(tokens))
        state: State = (tokens,)
        if self._eps is not None:
            state = tokens[:, 0].clone(), functional.layer_norm(tokens, tokens.shape[-1:], eps=self._eps)
        if self.rotary is not None:
            rows, columns = images.shape[-2] // self.patch, images.shape[-1] // self.patch
            state = *state, tokens.new_tensor([[rows, columns]]).expand(len(images), 2).contiguous()
        return state


def load_folder(folder: Path, name: str, image_size: int, train_blocks: int) -> Backbone:
    """A folder as ``save_pretrained`` writes it: config.json, weights, and how pixels were normalised."""
    config_path = folder / CONFIG
    if not config_path.is_file():
        raise UserError(f"{folder} has no {CONFIG}: expected a model folder as transformers saves it")
    described = _read_json(config_path)
    model_type = str(described.get("model_type"))
    if model_type not in FAMILIES:
        raise UserError(
            f"{name} is of type {model_type!r}, not a vision transformer with a CLS token that can be trained here; "
            f"there are: {', '.join(FAMILIES)}"
        )
    if not any((folder / file).is_file() for file in WEIGHTS):
        raise UserError(f"{folder} has no weights: expected {WEIGHTS[0]} or {WEIGHTS[2]}")
    family = FAMILIES[model_type]
    model = _load_model(folder, name, family)
    patch = _side(model.config.patch_size)
    first_norm = model.get_submodule(family.first_norm) if family.first_norm else None
    embedding = Embedding(model.get_submodule("embeddings"), family.interpolates, first_norm)
    return cut(model, family, embedding, patch, name, image_size, train_blocks, read_normalization(folder))


def cut(
    model: Any,
    family: Family,
    embedding: nn.Module,
    patch: int,
    name: str,
    image_size: int,
    train_blocks: int,
    normalization: Normalization,
    positions: str = "transformers",
) -> Backbone:
    """A loaded model as trunk and tail."""
    config = model.config
    layers = list(model.get_submodule(family.layers))
    check_image_size(name, image_size, patch)
    check_train_blocks(name, train_blocks, len(layers))
    settings = {key: getattr(config, key) for key in _SHAPING if hasattr(config, key)}
    settings |= {"train_blocks": train_blocks, "positions": positions, "mean": normalization.mean}
    fingerprint = digest(model.state_dict(), {**settings, "std": normalization.std})
    last, norm = layers[-train_blocks:], model.get_submodule(family.norm)
    rotary = model.get_submodule(family.rotary) if family.rotary else None
    eps = float(getattr(last[-1], family.names.norm1).eps) if train_blocks == 1 else None
    trunk = ViTTrunk(embedding, layers[:-train_blocks], patch, rotary, eps)
    heads = int(config.num_attention_heads)
    tail = (
        ViTTail(last, norm, family.names, heads)
        if rotary is None
        else RotaryViTTail(last, norm, family.names, heads, copy.deepcopy(rotary))
    )
    state = {"cls": False, "tokens": True} if train_blocks == 1 else {"residual": True}
    return Backbone(
        trunk,
        tail,
        name=name,
        family="vit",
        dim=int(config.hidden_size),
        image_size=image_size,
        train_blocks=train_blocks,
        normalization=normalization,
        state=state if rotary is None else {**state, "grid": False},
        fingerprint=fingerprint,
    )


def _load_model(folder: Path, name: str, family: Family) -> Any:
    try:
        with quiet():
            config = getattr(transformers, family.config).from_pretrained(folder, local_files_only=True)
            model, report = getattr(transformers, family.model).from_pretrained(
                folder,
                config=config,
                dtype=torch.float32,
                local_files_only=True,
                weights_only=True,
                output_loading_info=True,
                **dict(family.options),
            )
    except Exception as error:
        raise UserError(f"{name} cannot be loaded: {' '.join(str(error).split())[:200]}; {OFFLINE_HINT}") from error
    missing = sorted(key for key in report["missing_keys"] if not key.endswith("mask_token"))
    if missing:
        raise UserError(f"{name} lacks {len(missing)} of its weights, the first is {missing[0]}")
    return model


def read_normalization(folder: Path) -> Normalization:
    """What the model's image processor does to pixels, said for pixels in 0..1; ImageNet's where nothing is said."""
    for file in PREPROCESSORS:
        if (folder / file).is_file():
            described = _read_json(folder / file)
            processor = described.get("image_processor", described)
            if isinstance(processor, dict) and ("image_mean" in processor or "do_normalize" in processor):
                return _normalization(processor, folder / file)
    return Normalization()


def _normalization(processor: dict[str, Any], path: Path) -> Normalization:
    if processor.get("do_normalize") is False:
        return Normalization((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    rescale = processor.get("rescale_factor", 1 / 255) if processor.get("do_rescale", True) else 1.0
    try:
        mean, std = (_channels(processor[key], 255 * float(rescale)) for key in ("image_mean", "image_std"))
        if min(std) <= 0:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{path}: image_mean and image_std must be three numbers each, std above 0") from None
    return Normalization(mean, std)


def _channels(given: Any, scale: float) -> Channels:
    red, green, blue = (float(value) / scale for value in (given if isinstance(given, list) else [given] * 3))
    if not all(math.isfinite(value) for value in (red, green, blue)):
        raise ValueError
    return red, green, blue


def _side(patch_size: Any) -> int:
    return int(patch_size if isinstance(patch_size, int) else patch_size[0])


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        content = None
    if not isinstance(content, dict):
        raise UserError(f"{path} is not readable JSON")
    return content
