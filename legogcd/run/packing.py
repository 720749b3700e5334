"""A model without what is to be had elsewhere: no trunk, no device, no maps. What a pickle of an estimator holds."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch

from legogcd.errors import UserError
from legogcd.methods import build_method, method_entry
from legogcd.run.config import RunConfig
from legogcd.run.model import Model
from legogcd.run.runtime import open_runtime
from legogcd.training.checkpoint import load_model, model_tensors
from legogcd.vision.backbones import load_backbone

_MADE_ANEW = ("backbone", "method", "runtime")


@dataclass(frozen=True)
class PackedModel:
    """The trained tensors, the other fields of a model as they are, and the fingerprint of the trunk they go with."""

    tensors: dict[str, np.ndarray]
    others: dict[str, Any]
    weights: str


def pack(model: Model) -> PackedModel:
    """What must be kept of a model to have it again, whatever machine it was trained on."""
    tensors = model_tensors(model.backbone.tail, model.method)
    kept = {name: tensor.numpy() for name, tensor in tensors.items()}
    others = {field.name: getattr(model, field.name) for field in fields(model) if field.name not in _MADE_ANEW}
    return PackedModel(kept, others, model.backbone.fingerprint())


def unpack(packed: PackedModel, config: RunConfig, device: str = "auto", backbone: str | None = None) -> Model:
    """The model again: its backbone is loaded by name, and must be the one it was trained on."""
    options, protocol = config.options, config.options.protocol
    runtime = open_runtime(device, "auto" if protocol.precision == "bf16" else protocol.precision)
    name = backbone or protocol.backbone
    loaded = load_backbone(name, options.image_size, protocol.train_blocks).to(runtime.device)
    if loaded.fingerprint() != packed.weights:
        raise UserError(f"the weights of {name} are not those the model was trained on; set_params(backbone=...)")
    recipe = method_entry(config.method).recipe.model_validate(config.recipe)
    method = build_method(config.method, loaded.dim, config.n_classes, len(config.known), recipe).to(runtime.device)
    load_model(loaded.tail, method, {name: torch.from_numpy(kept) for name, kept in packed.tensors.items()})
    return Model(backbone=loaded, method=method, runtime=runtime, **packed.others)
