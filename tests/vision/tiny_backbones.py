"""Tiny random models, saved as their libraries save them, and the plain computation they are compared with."""

from pathlib import Path

import torch
import transformers
from torch import Tensor, nn

IMAGE = 32
_SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "image_size": IMAGE}

# kind: configuration, base model, saved model, settings, where the layers are
KINDS: dict[str, tuple[str, str, str, dict[str, object], str]] = {
    "vit": ("ViTConfig", "ViTModel", "ViTModel", {"patch_size": 8, "intermediate_size": 48}, "layers"),
    "vit-classifier": (
        "ViTConfig",
        "ViTModel",
        "ViTForImageClassification",
        {"patch_size": 16, "intermediate_size": 48, "qkv_bias": False, "num_labels": 3},
        "layers",
    ),
    "deit": ("DeiTConfig", "DeiTModel", "DeiTModel", {"patch_size": 8, "intermediate_size": 48}, "layers"),
    "vit_msn": ("ViTMSNConfig", "ViTMSNModel", "ViTMSNModel", {"patch_size": 16, "intermediate_size": 48}, "layers"),
    "dinov2": (
        "Dinov2Config",
        "Dinov2Model",
        "Dinov2Model",
        {"patch_size": 14, "image_size": 56, "mlp_ratio": 2, "drop_path_rate": 0.3, "hidden_dropout_prob": 0.2},
        "encoder.layer",
    ),
    "dinov2-swiglu": (
        "Dinov2Config",
        "Dinov2Model",
        "Dinov2ForImageClassification",
        {"patch_size": 8, "use_swiglu_ffn": True, "num_labels": 3},
        "encoder.layer",
    ),
    "dinov2_with_registers": (
        "Dinov2WithRegistersConfig",
        "Dinov2WithRegistersModel",
        "Dinov2WithRegistersModel",
        {"patch_size": 8, "mlp_ratio": 2, "num_register_tokens": 3},
        "encoder.layer",
    ),
    "dinov3_vit": (
        "DINOv3ViTConfig",
        "DINOv3ViTModel",
        "DINOv3ViTModel",
        {"patch_size": 8, "intermediate_size": 48, "num_register_tokens": 2, "key_bias": True, "use_gated_mlp": True},
        "model.layer",
    ),
    "clip_vision": (
        "CLIPVisionConfig",
        "CLIPVisionModel",
        "CLIPVisionModel",
        {"patch_size": 8, "intermediate_size": 48},
        "encoder.layers",
    ),
    "clip": (
        "CLIPConfig",
        "CLIPVisionModel",
        "CLIPModel",
        {"patch_size": 8, "intermediate_size": 48},
        "encoder.layers",
    ),
}


def shake(model: nn.Module, seed: int = 0) -> None:
    """Random values in every parameter: a norm left at 1 and 0, or a layer scale at 1, would hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            centre = 1.0 if parameter.ndim == 1 and "bias" not in name else 0.0
            parameter.copy_(centre + 0.2 * torch.randn(parameter.shape, generator=generator))


def save_tiny(folder: Path, kind: str, seed: int = 0, **settings: object) -> Path:
    """A folder with a random model of a kind, three layers of 32 dimensions and four heads."""
    config_name, _, saved_name, of_kind, _ = KINDS[kind]
    values = {**_SIZES, **of_kind, **settings}
    if config_name == "CLIPConfig":
        text = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        values = {"vision_config": values, "text_config": {**text, "vocab_size": 9}, "projection_dim": 8}
    model = getattr(transformers, saved_name)(getattr(transformers, config_name)(**values))
    shake(model, seed)
    model.save_pretrained(folder)
    return folder


class Plain:
    """The whole model as transformers runs it, with gradients through every token of the last blocks."""

    def __init__(self, folder: Path, kind: str, train_blocks: int) -> None:
        _, model_name, _, _, layers = KINDS[kind]
        options = {"add_pooling_layer": False} if model_name in {"ViTModel", "DeiTModel"} else {}
        model_class = getattr(transformers, model_name)
        self.model = model_class.from_pretrained(folder, dtype=torch.float32, **options).eval()
        self.layers = self.model.get_submodule(layers)[-train_blocks:]
        self._told = {} if "dinov" in kind else {"interpolate_pos_encoding": True}
        self._clip = "clip" in kind

    def __call__(self, images: Tensor) -> Tensor:
        output = self.model(images, **self._told)
        return output.pooler_output if self._clip else output.last_hidden_state[:, 0]

    def gradients(self, features: Tensor, direction: Tensor) -> dict[str, Tensor]:
        """The gradient of Σ features · direction for each parameter of the trained layers."""
        named = dict(self.layers.named_parameters())
        found = torch.autograd.grad((features * direction).sum(), list(named.values()), allow_unused=True)
        return {name: torch.zeros_like(named[name]) if g is None else g for name, g in zip(named, found, strict=True)}
