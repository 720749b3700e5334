"""A trained model: backbone, heads and class names; saved in a run folder, loaded from one, used on new images."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from legogcd.collection import Images
from legogcd.errors import UserError
from legogcd.evaluation.calibration import Calibration
from legogcd.files import write_text
from legogcd.methods import Method, build_method, check_method, method_entry
from legogcd.run.folder import CALIBRATION, CONFIG, MODEL, read_config, run_file
from legogcd.run.runtime import Runtime, open_runtime
from legogcd.training.checkpoint import load_model, load_tensors, model_tensors, save_tensors
from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.views.draw import evaluation_view
from legogcd.vision.views.encode import BATCH_VIEWS, Encoder
from legogcd.vision.views.tensor_format import stored_as


class Seen(NamedTuple):
    """A batch of images a model has looked at: their rows, their features [n, D], and the rows it could not read."""

    rows: list[int]
    features: Tensor | None
    unreadable: dict[int, str]


@dataclass
class Model:
    """What a run learned. ``kept_dtype`` is how the training saw its tokens; prediction sees them the same way."""

    backbone: Backbone
    method: Method
    known: tuple[str, ...]
    n_classes: int
    kept_dtype: str
    runtime: Runtime
    calibration: Calibration = field(default_factory=Calibration)

    @torch.no_grad()
    def look(self, images: Images) -> Iterator[Seen]:
        """The images' evaluation views through the backbone, batch by batch; one batch is in memory at a time."""
        encoder = Encoder(self.backbone, self.runtime.device, self.runtime.precision)
        self.backbone.eval()
        stream = encoder.stream(
            images, range(len(images)), lambda row, image: evaluation_view(image, encoder.rule)[None], BATCH_VIEWS
        )
        for rows, state, bad in stream:
            if state is None:
                yield Seen(rows, None, bad)
                continue
            halved = [
                stored_as(tensor, self.kept_dtype) if half else tensor
                for tensor, half in zip(state, self.backbone.half, strict=True)
            ]
            with self.runtime.autocast():
                features = self.backbone.tail(tuple(halved)).float()
            yield Seen(rows, features, bad)

    def features(self, images: Images) -> Iterator[Tensor]:
        """Features [n, D] of the images, in batches; an unreadable one is the caller's mistake."""
        for seen in self.look(images):
            for row, reason in seen.unreadable.items():
                raise UserError(f"{images.names[row]} cannot be read: {reason}")
            assert seen.features is not None
            yield seen.features

    def transform(self, images: Images) -> np.ndarray:
        """Features [N, D]."""
        return torch.cat([batch.cpu() for batch in self.features(images)]).numpy()

    def probabilities(self, images: Images) -> np.ndarray:
        """Class probabilities [N, K], calibrated, known classes first."""
        return np.concatenate([self.classify(batch) for batch in self.features(images)])

    @torch.no_grad()
    def classify(self, features: Tensor) -> np.ndarray:
        """Calibrated class probabilities [n, K] of features [n, D]."""
        self.method.eval()
        return self.calibration.temper(self.method.probabilities(features).cpu().numpy())

    def save(self, folder: Path) -> None:
        """model.safetensors: the tail and the heads; calibration.json beside it.

        The trunk is named in config.json, with its fingerprint.
        """
        save_tensors(folder / MODEL, model_tensors(self.backbone.tail, self.method))
        write_text(folder / CALIBRATION, json.dumps(asdict(self.calibration), indent=1) + "\n")


def load_run(
    folder: Path, backbone: str | None = None, device: str = "auto", threads: int | None = None
) -> tuple[Model, dict[str, Any]]:
    """The model of a finished run and its configuration; ``backbone`` says where its weights are now if they moved."""
    config = read_config(folder)
    path = run_file(folder, MODEL)
    try:
        settings = config["backbone"]
        name, fingerprint = backbone or settings["name"], settings["fingerprint"]
        image_size, train_blocks = settings["image_size"], settings["train_blocks"]
        known, n_classes = tuple(config["known"]), config["n_classes"]
        method_name = check_method(config["method"])
        recipe = method_entry(method_name).recipe.model_validate(config["recipe"])
        precision, kept_dtype = config["precision"], config["views"]["dtype"]
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{folder / CONFIG} is not a configuration this version can read ({error})") from None
    runtime = open_runtime(device, "auto" if precision == "bf16" else precision, threads)
    loaded = load_backbone(name, image_size=image_size, train_blocks=train_blocks).to(runtime.device)
    if loaded.fingerprint() != fingerprint:
        raise UserError(f"the weights of {name} are not those the run was trained on; name the right ones as backbone")
    method = build_method(method_name, loaded.dim, n_classes, len(known), recipe).to(runtime.device)
    load_model(loaded.tail, method, load_tensors(path)[0])
    return Model(loaded, method, known, n_classes, kept_dtype, runtime, read_calibration(folder)), config


def read_calibration(folder: Path) -> Calibration:
    """calibration.json of a run; one that has none reports its probabilities as they are."""
    path = folder / CALIBRATION
    if not path.exists():
        return Calibration()
    try:
        found = Calibration(**json.loads(path.read_text(encoding="utf-8")))
        sound = found.temperature > 0 and found.threshold >= 0
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise UserError(f"{path} is not a calibration this version can read")
    return found
