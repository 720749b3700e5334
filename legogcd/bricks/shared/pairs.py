"""Who is paired with whom inside a batch; nothing here has a gradient or waits for the device."""

import torch
from torch import Tensor

from legogcd.bricks.shared.cosines import unit_vectors
from legogcd.bricks.shared.precision import at_least_float32
from legogcd.bricks.shared.two_views import TwoViews
from legogcd.errors import UserError

_31_BITS = 2**31 - 1


@torch.no_grad()
def same_top(features: Tensor, top: int = 5) -> Tensor:
    """Which rows have the same ``top`` largest dimensions, in whatever order: [B, D] → [B, B], boolean.

    A dimension as large as the last of the top belongs to it too, so that equal values need no tie-break; where there
    are no more than ``top`` dimensions all rows agree.

    >>> same_top(torch.tensor([[9.0, 8.0, 1.0, 0.0], [5.0, 7.0, 2.0, 3.0], [9.0, 1.0, 8.0, 0.0]]), top=2)
    tensor([[ True,  True, False],
            [ True,  True, False],
            [False, False,  True]])
    """
    last = features.topk(min(top, features.shape[1]), dim=1).values[:, -1:]  # [B, 1]
    in_top = (features >= last).float()  # [B, D]
    size = in_top.sum(dim=1)  # [B]
    with torch.autocast(features.device.type, enabled=False):  # counts have to stay whole
        shared = in_top @ in_top.T  # [B, B]
    return (shared == size) & (shared == size[:, None])


@torch.no_grad()
def nearest_other(features: Tensor, images: Tensor | None = None) -> Tensor:
    """Each row's most cosine-similar other row: [B, D] → [B]; itself where there is no other.

    ``images`` [B] names the image of each row where a batch may hold one twice: a copy is no neighbor.

    >>> rows = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 0.1], [0.1, 9.0]])
    >>> nearest_other(rows)
    tensor([2, 3, 0, 1])
    >>> nearest_other(rows, images=torch.tensor([4, 5, 4, 6]))  # rows 0 and 2 show the same image
    tensor([3, 3, 3, 1])
    """
    directions = unit_vectors(at_least_float32(features))  # [B, D]
    with torch.autocast(features.device.type, enabled=False):
        cosines = directions @ directions.T  # [B, B]
    return _best_of(cosines, _other_images(_names(images, features)))


@torch.no_grad()
def same_class_partner(labels: Tensor, images: Tensor | None = None, epoch: int = 0) -> Tensor:
    """For each row a random other image with its label: [B] → [B]; itself where there is none, or no label.

    The draw is a fixed function of the epoch and of the images' numbers ``images`` [B] (default: places in the batch),
    not of a generator's state: a run that goes on after an interruption draws what it would have drawn.

    >>> same_class_partner(torch.tensor([0, 1, 0, -1, 2, -1]))
    tensor([2, 1, 0, 3, 4, 5])
    """
    images = _names(images, labels)
    same_class = (labels == labels[:, None]) & (labels >= 0)  # [B, B]
    return _best_of(_lots(images, epoch), same_class & _other_images(images))


def pairing_features(views: TwoViews) -> Tensor:
    """The first views' features, which decide the pairs: [B, D], float32 at least, without gradient."""
    features, images = views.features, len(views.labels)
    if features is None or features.ndim != 3 or features.shape[:2] != (2, images):
        given = "missing" if features is None else f"of shape {list(features.shape)}"
        raise UserError(f"features are {given}; to compare {images} images give features as [2, {images}, dimensions].")
    return at_least_float32(features[0].detach())


def _names(images: Tensor | None, rows: Tensor) -> Tensor:
    return torch.arange(len(rows), device=rows.device) if images is None else images


def _other_images(images: Tensor) -> Tensor:
    return images != images[:, None]  # [B, B]


def _best_of(scores: Tensor, allowed: Tensor) -> Tensor:
    """The allowed column with the highest score of each row of [B, B]; the row itself where none is allowed."""
    lowest = torch.finfo(scores.dtype).min if scores.is_floating_point() else -1
    best = scores.masked_fill(~allowed, lowest).argmax(dim=1)  # [B]
    return torch.where(allowed.any(dim=1), best, torch.arange(len(scores), device=scores.device))


def _lots(images: Tensor, epoch: int) -> Tensor:
    """A number from 0 to 2³¹ − 1 for each ordered pair of images, another one every epoch: [B] → [B, B]."""
    images = images.long()
    drawing = _scrambled(images + _scrambled(torch.full_like(images, epoch)))  # [B]
    return _scrambled(drawing[:, None] + _scrambled(images))


def _scrambled(numbers: Tensor) -> Tensor:
    """Numbers as random-looking ones below 2³¹; the products stay below 2⁶³, so that every device agrees."""
    for _ in range(3):
        numbers = numbers & _31_BITS
        numbers = ((numbers ^ (numbers >> 15)) * 0x2C1B3C6D) & _31_BITS
    return numbers ^ (numbers >> 14)
