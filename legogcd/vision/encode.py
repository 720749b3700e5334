"""Pixels to tokens, as a stream: images decoded ahead by threads, the frozen trunk in batches, memory bounded."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import numpy as np
import torch

from legogcd.collection import Images
from legogcd.vision.backbones import Backbone
from legogcd.vision.images import UnreadableImage
from legogcd.vision.tail import State
from legogcd.vision.views import ViewRule, load_resized, normalize

Given = TypeVar("Given")
Made = TypeVar("Made")

Cropper = Callable[[int, np.ndarray], np.ndarray]  # an image's row and its pixels [H, W, 3] -> views [V, S, S, 3]

BATCH_VIEWS = 64
DECODE_THREADS = min(8, os.cpu_count() or 2)


def map_ahead(work: Callable[[Given], Made], items: Iterable[Given], ahead: int) -> Iterator[Made]:
    """``map`` in threads, in order, at most ``ahead`` results waiting."""
    source = iter(items)
    with ThreadPoolExecutor(DECODE_THREADS) as pool:
        waiting: deque[Future[Made]] = deque(pool.submit(work, item) for item in islice(source, ahead))
        while waiting:
            made = waiting.popleft().result()
            for item in islice(source, 1):
                waiting.append(pool.submit(work, item))
            yield made


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """bfloat16 arithmetic where asked for, plain float32 otherwise."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


class Encoder:
    """A backbone's trunk over views of images, on a device, at a precision."""

    def __init__(self, backbone: Backbone, device: torch.device, precision: str) -> None:
        self.backbone, self.device, self.precision = backbone, device, precision
        self.rule = ViewRule(backbone.image_size)

    def trunk(self, views: np.ndarray) -> State:
        """uint8 [N, S, S, 3] -> the trunk's state, on the device."""
        pixels = normalize(views, self.backbone.mean, self.backbone.std)
        with torch.no_grad(), autocast(self.device, self.precision):
            state: State = self.backbone.trunk(pixels.to(self.device))
        return state

    def stream(
        self, images: Images, rows: Sequence[int], crop: Cropper, images_per_batch: int
    ) -> Iterator[tuple[list[int], State | None, dict[int, str]]]:
        """Yield (rows, their views' states [len(rows)·V, ...] or None, unreadable rows with reasons) by batches."""

        def views_of(row: int) -> np.ndarray | UnreadableImage:
            try:
                return crop(row, load_resized(images.item(row), self.rule))
            except UnreadableImage as unreadable:
                return unreadable

        decoded = map_ahead(views_of, rows, ahead=2 * images_per_batch)
        for begin in range(0, len(rows), images_per_batch):
            group = list(rows[begin : begin + images_per_batch])
            made = dict(zip(group, islice(decoded, len(group)), strict=True))
            bad = {row: views.reason for row, views in made.items() if isinstance(views, UnreadableImage)}
            good = [views for views in made.values() if not isinstance(views, UnreadableImage)]
            state = self.trunk(np.concatenate(good)) if good else None
            yield [row for row in group if row not in bad], state, bad
