"""How a model folder says that pixels are normalized: the settings of its image processor."""

import math
from pathlib import Path
from typing import Any

from legogcd.errors import UserError
from legogcd.files import parse_json
from legogcd.vision.backbones.backbone import Channels, Normalization
from legogcd.vision.backbones.hub import PREPROCESSORS


def read_normalization(folder: Path) -> Normalization:
    """What the model's image processor does to pixels, said for pixels in 0..1; ImageNet's where nothing is said."""
    for file in PREPROCESSORS:
        if (folder / file).is_file():
            described = read_json(folder / file)
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


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object, or one line that says that the file holds none."""
    try:
        content = parse_json(path.read_bytes())
    except (OSError, ValueError):
        content = None
    if not isinstance(content, dict):
        raise UserError(f"{path} is not readable JSON")
    return content
