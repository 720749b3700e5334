"""A trained model: backbone, heads and class names; saved in a run folder, loaded from one, used on new images."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from legogcd.collection import Images
from legogcd.discovery import CONFIG, MODEL, read_config, run_file
from legogcd.errors import UserError
from legogcd.methods import METHODS, Method, build_method, check_method
from legogcd.training.checkpoint import load_model, load_tensors, model_tensors, save_tensors
from legogcd.training.runtime import Runtime, open_runtime
from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.cache import DTYPES
from legogcd.vision.encode import BATCH_VIEWS, Encoder
from legogcd.vision.views import evaluation_view


@dataclass
class Model:
    """What a run learned. ``kept_dtype`` is how the training saw its tokens; prediction sees them the same way."""

    backbone: Backbone
    method: Method
    known: tuple[str, ...]
    n_classes: int
    kept_dtype: str
    runtime: Runtime

    @torch.no_grad()
    def features(self, images: Images) -> Iterator[Tensor]:
        """Features [n, D] of the images' evaluation views, in batches; an unreadable image is the caller's mistake."""
        encoder = Encoder(self.backbone, self.runtime.device, self.runtime.precision)
        self.backbone.eval()
        stream = encoder.stream(
            images, range(len(images)), lambda row, image: evaluation_view(image, encoder.rule)[None], BATCH_VIEWS
        )
        for _, state, bad in stream:
            for row, reason in bad.items():
                raise UserError(f"{images.names[row]} cannot be read: {reason}")
            assert state is not None
            halved = [
                tensor.to(DTYPES[self.kept_dtype]) if half else tensor
                for tensor, half in zip(state, self.backbone.half, strict=True)
            ]
            with self.runtime.autocast():
                yield self.backbone.tail(tuple(halved)).float()

    def transform(self, images: Images) -> np.ndarray:
        """Features [N, D]."""
        return torch.cat([batch.cpu() for batch in self.features(images)]).numpy()

    @torch.no_grad()
    def probabilities(self, images: Images) -> np.ndarray:
        """Class probabilities [N, K], known classes first."""
        self.method.eval()
        return torch.cat([self.method.probabilities(batch).cpu() for batch in self.features(images)]).numpy()

    def save(self, folder: Path) -> None:
        """model.safetensors: the tail and the heads. The trunk is named in config.json, with its fingerprint."""
        save_tensors(folder / MODEL, model_tensors(self.backbone.tail, self.method))


def load_run(folder: Path, backbone: str | None = None, device: str = "auto") -> tuple[Model, dict[str, Any]]:
    """The model of a finished run and its configuration; ``backbone`` says where its weights are now if they moved."""
    config = read_config(folder)
    path = run_file(folder, MODEL)
    try:
        settings = config["backbone"]
        name, fingerprint = backbone or settings["name"], settings["fingerprint"]
        image_size, train_blocks = settings["image_size"], settings["train_blocks"]
        known, n_classes = tuple(config["known"]), config["n_classes"]
        method_name = check_method(config["method"])
        recipe = METHODS[method_name].recipe.model_validate(config["recipe"])
        precision, kept_dtype = config["precision"], config["views"]["dtype"]
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{folder / CONFIG} is not a configuration this version can read ({error})") from None
    runtime = open_runtime(device, "auto" if precision == "bf16" else precision)
    loaded = load_backbone(name, image_size=image_size, train_blocks=train_blocks).to(runtime.device)
    if loaded.fingerprint() != fingerprint:
        raise UserError(f"the weights of {name} are not those the run was trained on; name the right ones as backbone")
    method = build_method(method_name, loaded.dim, n_classes, len(known), recipe).to(runtime.device)
    load_model(loaded.tail, method, load_tensors(path)[0])
    return Model(loaded, method, known, n_classes, kept_dtype, runtime), config
