"""Views of an image: resized once, then cropped at random and perhaps flipped, or cropped at the center."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from legogcd.collection.images import Item
from legogcd.vision.decode import read_rgb, resize_shorter


@dataclass(frozen=True)
class ViewRule:
    """Shorter side to ``resize`` (bicubic), then a square crop of ``image_size``: 256 and 224 in the paper.

    With ``full_decode`` large images are decoded in full, as the published loaders do, not at a fraction of their size.
    """

    image_size: int
    full_decode: bool = False

    @property
    def resize(self) -> int:
        return int(self.image_size / 0.875)

    @property
    def size_hint(self) -> int | None:
        """What a decoder is told of the size that is needed; None: nothing."""
        return None if self.full_decode else self.resize


def load_resized(item: Item, rule: ViewRule) -> np.ndarray:
    """Decode and resize one image: uint8 [H, W, 3] with min(H, W) = rule.resize."""
    return np.asarray(resize_shorter(read_rgb(item, size_hint=rule.size_hint), rule.resize))


def evaluation_view(image: np.ndarray, rule: ViewRule) -> np.ndarray:
    """The center crop: uint8 [S, S, 3]."""
    size = rule.image_size
    top, left = (round((side - size) / 2) for side in image.shape[:2])
    return image[top : top + size, left : left + size]


def random_view(image: np.ndarray, rule: ViewRule, random: np.random.Generator) -> np.ndarray:
    """A crop at a uniform place, flipped left to right half of the time: uint8 [S, S, 3]."""
    size = rule.image_size
    top = int(random.integers(image.shape[0] - size + 1))
    left = int(random.integers(image.shape[1] - size + 1))
    view = image[top : top + size, left : left + size]
    return view[:, ::-1] if random.random() < 0.5 else view


def normalize(views: np.ndarray, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """uint8 [N, S, S, 3] -> float32 [N, 3, S, S] as the backbone was trained to see it (channels-last in memory)."""
    count, side = views.shape[:2]
    scale = torch.tensor(std).mul(255).reciprocal()
    shift = -torch.tensor(mean) / torch.tensor(std)
    lines = torch.from_numpy(np.ascontiguousarray(views)).view(count * side, -1).float()  # whole lines: three at a time
    lines.mul_(scale.repeat(views.shape[2])).add_(shift.repeat(views.shape[2]))  # would leave the vector units idle
    return lines.view(views.shape).permute(0, 3, 1, 2)
