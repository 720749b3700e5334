"""A trained model: backbone, heads and class names; saved in a run folder, loaded from one, used on new images."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from legogcd.collection import Images
from legogcd.errors import UserError
from legogcd.evaluation.calibration import Calibration
from legogcd.evaluation.strangers import Nearness, Strangers, nearest_distance, usual_distances
from legogcd.files import parse_json, write_text
from legogcd.methods import Method, build_method, check_method, method_entry
from legogcd.run.config import RunConfig, read_config
from legogcd.run.folder import CALIBRATION, CONFIG, MANIFEST, MODEL, STRANGERS, run_file
from legogcd.run.manifest import read_manifest
from legogcd.run.runtime import Runtime, open_runtime
from legogcd.run.trust import trusted_backbone
from legogcd.training.checkpoint import load_model, load_tensors, model_tensors, save_tensors
from legogcd.training.journal import log_record
from legogcd.training.loop import Metrics
from legogcd.vision.backbones import Backbone, load_backbone
from legogcd.vision.features import FeatureBatch, StateBatch, features, stacked, streamed_states
from legogcd.vision.views.encode import Encoder

CLASSIFIED_TOGETHER = 4096  # features whose probabilities are computed at once


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
    full_decode: bool = False  # images are read as they were for training
    strangers: Strangers | None = None  # what is usual; None where too few images, or an older version, could tell

    @property
    def encoder(self) -> Encoder:
        return Encoder(self.backbone, self.runtime.device, self.runtime.precision, self.full_decode)

    def batches(self, images: Images) -> Iterator[FeatureBatch]:
        """Features of images, batch by batch; one batch is in memory at a time."""
        return self.features(streamed_states(self.encoder, images, self.kept_dtype))

    def features(self, states: Iterable[StateBatch]) -> Iterator[FeatureBatch]:
        """Features of states, wherever they come from."""
        return features(self.backbone.tail, states, self.runtime)

    def transform(self, images: Images) -> np.ndarray:
        """Features [N, D]; an unreadable image is the caller's mistake."""
        return stacked(self._readable(images), len(images))

    def probabilities(self, images: Images) -> np.ndarray:
        """Class probabilities [N, K], calibrated, known classes first; an unreadable image is the caller's mistake."""
        return np.concatenate([self.classify(batch) for batch in self._readable(images)])

    def distances(self, images: Images) -> Iterator[np.ndarray]:
        """The score of strangers, batch by batch [n]; an unreadable image is the caller's mistake."""
        return (self.distance(batch) for batch in self._readable(images))

    def _readable(self, images: Images) -> Iterator[Tensor]:
        for batch in self.batches(images):
            for row, reason in batch.unreadable.items():
                raise UserError(f"{images.names[row]} cannot be read: {reason}")
            yield batch.features

    @torch.no_grad()
    def classify(self, features: Tensor) -> np.ndarray:
        """Calibrated class probabilities [n, K] of features [n, D]."""
        self.method.eval()
        return self.calibration.temper(self.method.probabilities(features).cpu().numpy())

    @torch.no_grad()
    def distance(self, features: Tensor) -> np.ndarray:
        """How far features [n, D] are from the nearest category [n]: the score of strangers."""
        self.method.eval()
        return nearest_distance(self.method.logits(features).cpu().numpy())

    @torch.no_grad()
    def nearness(self, features: Tensor, labels: np.ndarray) -> Nearness:
        """How near features [n, D] of images that were learned from are to the categories; labels [n], -1 = none."""
        self.method.eval()
        return Nearness.of(self.method.logits(features).cpu().numpy(), labels)

    def usual(self, near: Nearness, unlabelled: np.ndarray) -> Strangers | None:
        """What is usual, from those of the images that were learned from that had no label."""
        near = near.without_themselves() if self.method.logits_are_cosines else near
        return usual_distances(near.distances()[unlabelled])

    def classify_array(self, features: np.ndarray) -> np.ndarray:
        """Calibrated class probabilities [N, K] of features [N, D] in memory."""
        return np.concatenate([self.classify(part) for part in self._parts(features)])

    def strangeness_array(self, features: np.ndarray) -> np.ndarray | None:
        """How little features [N, D] in memory look like any category [N]; None where the run cannot tell."""
        if self.strangers is None:
            return None
        return self.strangers.strangeness(np.concatenate([self.distance(part) for part in self._parts(features)]))

    def _parts(self, features: np.ndarray) -> Iterator[Tensor]:
        for part in np.array_split(features, range(CLASSIFIED_TOGETHER, len(features), CLASSIFIED_TOGETHER)):
            yield torch.from_numpy(part).to(self.runtime.device)

    def save(self, folder: Path, log: Sequence[Metrics]) -> None:
        """model.safetensors: the tail and the heads, and which log they belong to; calibration.json beside it.

        The trunk is named in config.json, with its fingerprint.
        """
        save_tensors(folder / MODEL, model_tensors(self.backbone.tail, self.method), **log_record(log))
        write_text(folder / CALIBRATION, json.dumps(asdict(self.calibration), indent=1) + "\n")


def load_run(
    folder: Path, backbone: str | None = None, device: str = "auto", threads: int | None = None
) -> tuple[Model, RunConfig]:
    """The model of a finished run and its configuration; ``backbone`` says where its weights are now if they moved."""
    config = read_config(folder)
    options = config.options
    path = run_file(folder, MODEL)
    run_file(folder, MANIFEST)
    try:
        method_name = check_method(config.method)
        recipe = method_entry(method_name).recipe.model_validate(config.recipe)
    except ValueError as error:
        raise UserError(f"{folder / CONFIG} is not a configuration this version can read ({error})") from None
    name = trusted_backbone(folder, config, backbone)
    protocol = options.protocol
    runtime = open_runtime(device, "auto" if protocol.precision == "bf16" else protocol.precision, threads)
    loaded = load_backbone(name, options.image_size, protocol.train_blocks).to(runtime.device)
    if loaded.fingerprint() != config.weights:
        raise UserError(f"the weights of {name} are not those the run was trained on; name the right ones as backbone")
    method = build_method(method_name, loaded.dim, config.n_classes, len(config.known), recipe).to(runtime.device)
    load_model(loaded.tail, method, load_tensors(path)[0])
    calibration = read_calibration(folder)
    full = protocol.decode == "full"
    strangers = read_strangers(folder)
    model = Model(
        loaded, method, config.known, config.n_classes, protocol.kept_dtype, runtime, calibration, full, strangers
    )
    return model, config


def read_calibration(folder: Path) -> Calibration:
    """calibration.json of a run; one that has none reports its probabilities as they are."""
    if not (folder / CALIBRATION).exists() and CALIBRATION not in read_manifest(folder):
        return Calibration()
    path = run_file(folder, CALIBRATION)
    try:
        found = Calibration(**parse_json(path.read_bytes()))
        sound = 0 < found.temperature < float("inf") and 0 <= found.threshold <= 1
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise UserError(f"{path} is not a calibration this version can read")
    return found


def write_strangers(folder: Path, strangers: Strangers | None) -> None:
    """strangers.json of a run, where enough images tell what is usual."""
    if strangers is None:
        (folder / STRANGERS).unlink(missing_ok=True)
        return
    content = {"images": strangers.images, "quantiles": list(strangers.quantiles)}
    write_text(folder / STRANGERS, json.dumps(content) + "\n")


def read_strangers(folder: Path) -> Strangers | None:
    """strangers.json of a run; None where it has none, as runs of older versions."""
    if not (folder / STRANGERS).exists() and STRANGERS not in read_manifest(folder):
        return None
    path = run_file(folder, STRANGERS)
    try:
        content = parse_json(path.read_bytes())
        found = Strangers(int(content["images"]), tuple(float(value) for value in content["quantiles"]))
        sound = len(found.quantiles) > 1 and bool((np.diff(found.quantiles) >= 0).all())
    except (TypeError, ValueError, KeyError):
        sound = False
    if not sound:
        raise UserError(f"{path} is not what a run writes about strangers")
    return found
