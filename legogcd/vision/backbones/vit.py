"""Vision transformers through transformers: DINO, ViT, DeiT, MSN, DINOv2 (with registers or not), DINOv3, CLIP."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from legogcd.errors import UserError
from legogcd.vision.attention import at_least_float32
from legogcd.vision.backbones.backbone import (
    Backbone,
    Normalization,
    Trunk,
    check_train_blocks,
    digest,
)
from legogcd.vision.backbones.families.family import check_image_size
from legogcd.vision.backbones.families.vit import CHECKPOINTS
from legogcd.vision.backbones.hub import CONFIG, OFFLINE_HINT, WEIGHTS, fetch, quiet
from legogcd.vision.backbones.preprocessor import read_json, read_normalization
from legogcd.vision.tail import BlockNames, RotaryViTTail, State, ViTTail

_VIT = BlockNames(norm1="layernorm_before", attention="attention", out="o_proj", norm2="layernorm_after")
_DINOV2 = BlockNames(norm1="norm1", attention="attention", out="o_proj", norm2="norm2")
_CLIP = BlockNames(norm1="layer_norm1", attention="self_attn", out="out_proj", norm2="layer_norm2")


@dataclass(frozen=True)
class ModelType:
    """Where a model class of transformers has what trunk and tail are made of."""

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
_CLIP_VISION = ModelType(
    "CLIPVisionConfig", "CLIPVisionModel", _CLIP, "encoder.layers", "post_layernorm", True, first_norm="pre_layrnorm"
)
MODEL_TYPES = {  # by a configuration's model_type
    "vit": ModelType("ViTConfig", "ViTModel", _VIT, "layers", "layernorm", True, _NO_POOLER),
    "deit": ModelType("DeiTConfig", "DeiTModel", _VIT, "layers", "layernorm", True, _NO_POOLER),
    "vit_msn": ModelType("ViTMSNConfig", "ViTMSNModel", _VIT, "layers", "layernorm", True),
    "dinov2": ModelType("Dinov2Config", "Dinov2Model", _DINOV2, "encoder.layer", "layernorm"),
    "dinov2_with_registers": ModelType(
        "Dinov2WithRegistersConfig", "Dinov2WithRegistersModel", _DINOV2, "encoder.layer", "layernorm"
    ),
    "dinov3_vit": ModelType(
        "DINOv3ViTConfig", "DINOv3ViTModel", _DINOV2, "model.layer", "norm", rotary="rope_embeddings"
    ),
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
    described = read_json(config_path)
    type_name = str(described.get("model_type"))
    if type_name not in MODEL_TYPES:
        raise UserError(
            f"{name} is of type {type_name!r}, not a vision transformer with a CLS token that can be trained here; "
            f"there are: {', '.join(MODEL_TYPES)}"
        )
    if not any((folder / file).is_file() for file in WEIGHTS):
        raise UserError(f"{folder} has no weights: expected {WEIGHTS[0]} or {WEIGHTS[2]}")
    model_type = MODEL_TYPES[type_name]
    model = _load_model(folder, name, model_type)
    patch = _side(model.config.patch_size)
    first_norm = model.get_submodule(model_type.first_norm) if model_type.first_norm else None
    embedding = Embedding(model.get_submodule("embeddings"), model_type.interpolates, first_norm)
    return cut(model, model_type, embedding, patch, name, image_size, train_blocks, read_normalization(folder))


def cut(
    model: Any,
    model_type: ModelType,
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
    layers = list(model.get_submodule(model_type.layers))
    check_image_size(name, image_size, patch)
    check_train_blocks(name, train_blocks, len(layers))
    settings = {key: getattr(config, key) for key in _SHAPING if hasattr(config, key)}
    settings |= {"train_blocks": train_blocks, "positions": positions, "mean": normalization.mean}
    fingerprint = digest(model.state_dict(), {**settings, "std": normalization.std})
    last, norm = layers[-train_blocks:], model.get_submodule(model_type.norm)
    rotary = model.get_submodule(model_type.rotary) if model_type.rotary else None
    eps = float(getattr(last[-1], model_type.names.norm1).eps) if train_blocks == 1 else None
    trunk = ViTTrunk(embedding, layers[:-train_blocks], patch, rotary, eps)
    heads = int(config.num_attention_heads)
    tail = (
        ViTTail(last, norm, model_type.names, heads)
        if rotary is None
        else RotaryViTTail(last, norm, model_type.names, heads, copy.deepcopy(rotary))
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


def _load_model(folder: Path, name: str, model_type: ModelType) -> Any:
    import transformers

    try:
        with quiet():
            config = getattr(transformers, model_type.config).from_pretrained(folder, local_files_only=True)
            model, report = getattr(transformers, model_type.model).from_pretrained(
                folder,
                config=config,
                dtype=torch.float32,
                local_files_only=True,
                weights_only=True,
                output_loading_info=True,
                **dict(model_type.options),
            )
    except Exception as error:
        raise UserError(f"{name} cannot be loaded: {' '.join(str(error).split())[:200]}; {OFFLINE_HINT}") from error
    missing = sorted(key for key in report["missing_keys"] if not key.endswith("mask_token"))
    if missing:
        raise UserError(f"{name} lacks {len(missing)} of its weights, the first is {missing[0]}")
    return model


def _side(patch_size: Any) -> int:
    return int(patch_size if isinstance(patch_size, int) else patch_size[0])


def load_vit(name: str, image_size: int, train_blocks: int) -> Backbone:
    """A model folder, a file in DINO's layout, or a hub id, asked for in this order."""
    path = Path(name or "no name").expanduser()
    if path.is_dir():
        return load_folder(path, name, image_size, train_blocks)
    if path.is_file() and path.suffix in CHECKPOINTS:
        from legogcd.vision.backbones.dino import load_checkpoint

        return load_checkpoint(path, image_size, train_blocks)
    return load_folder(fetch(name), name, image_size, train_blocks)
