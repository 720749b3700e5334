"""Pixels to tokens, as a stream: on a CPU each thread takes images all the way to their states; memory is bounded."""

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
import torch

from legogcd.collection import Images
from legogcd.errors import UnreadableImage
from legogcd.vision.backbones import Backbone
from legogcd.vision.tail import State
from legogcd.vision.views.draw import ViewRule, load_resized, normalize
from legogcd.vision.views.workers import use_threads

Given = TypeVar("Given")
Made = TypeVar("Made")

Cropper = Callable[[int, np.ndarray], np.ndarray]  # an image's row and its pixels [H, W, 3] -> views [V, S, S, 3]

BATCH_VIEWS = 64
MOST_THREADS = 8
DECODE_THREADS = min(MOST_THREADS, os.cpu_count() or 2)


def map_ahead(
    work: Callable[[Given], Made],
    items: Iterable[Given],
    ahead: int,
    threads: int = DECODE_THREADS,
    torch_threads: int | None = None,
) -> Iterator[Made]:
    """``map`` in threads, in order, at most ``ahead`` results waiting; each may use ``torch_threads`` for itself."""
    source, before = iter(items), torch.get_num_threads()
    each = before if torch_threads is None else torch_threads
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(threads, initializer=use_threads, initargs=(each,)) as pool:
        try:
            waiting.extend(pool.submit(work, item) for item in islice(source, ahead))
            while waiting:
                made = waiting.popleft().result()
                waiting.extend(pool.submit(work, item) for item in islice(source, 1))
                yield made
        finally:
            for future in waiting:  # who stops early does not wait for work nobody asks for
                future.cancel()
            use_threads(before)  # what a thread sets for itself, threads that start later inherit


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """bfloat16 arithmetic where asked for, plain float32 otherwise."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


class Encoder:
    """A backbone's trunk over views of images, on a device, at a precision."""

    def __init__(self, backbone: Backbone, device: torch.device, precision: str, full_decode: bool = False) -> None:
        self.backbone, self.device, self.precision = backbone, device, precision
        self.rule = ViewRule(backbone.image_size, full_decode)
        self._on_cpu = device.type == "cpu"

    def trunk(self, views: np.ndarray) -> State:
        """uint8 [N, S, S, 3] -> the trunk's state, on the device."""
        calls = math.ceil(len(views) / self.backbone.trunk.views_at_once) if self._on_cpu else 1
        return _joined([self._trunk(part) for part in np.array_split(views, calls)])

    def _trunk(self, views: np.ndarray) -> State:
        pixels = normalize(views, self.backbone.mean, self.backbone.std)
        with torch.no_grad(), autocast(self.device, self.precision):
            state: State = self.backbone.trunk(pixels.to(self.device))
        return state

    def stream(
        self, images: Images, rows: Sequence[int], crop: Cropper, images_per_batch: int
    ) -> Iterator[tuple[list[int], State | None, dict[int, str]]]:
        """Yield (rows, their views' states [len(rows)·V, ...] or None, unreadable rows with reasons) by batches."""

        def load(few: Sequence[int]) -> tuple[Any, dict[int, str]]:
            views, bad = [], {}
            for row in few:
                try:
                    views.append(crop(row, load_resized(images.item(row), self.rule)))
                except UnreadableImage as unreadable:
                    bad[row] = unreadable.reason
            made = np.concatenate(views) if views else None
            return made if made is None or not self._on_cpu else self.trunk(made), bad

        threads, each = share_cores() if self._on_cpu else (DECODE_THREADS, None)
        at_once = max(1, images_per_batch * self.backbone.trunk.views_at_once // BATCH_VIEWS) if self._on_cpu else 1
        batches = [_split(batch, at_once) for batch in _split(rows, images_per_batch)]
        loaded = map_ahead(load, chain.from_iterable(batches), images_per_batch // at_once + 2 * threads, threads, each)
        for batch in batches:
            parts = list(islice(loaded, len(batch)))
            made = [part for part, _ in parts if part is not None]
            bad = {row: reason for _, unreadable in parts for row, reason in unreadable.items()}
            state = (_joined(made) if self._on_cpu else self.trunk(np.concatenate(made))) if made else None
            yield [row for few in batch for row in few if row not in bad], state, bad


def _split(rows: Sequence[int], size: int) -> list[Sequence[int]]:
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)]


def share_cores() -> tuple[int, int]:
    """How many threads encode side by side, and how many cores each of them has.

    Threads with an image each never wait for one another; cores that share one wait at the end of every layer.
    """
    cores = torch.get_num_threads()
    threads = min(MOST_THREADS, cores)
    return threads, cores // threads


def _joined(states: Sequence[State]) -> State:
    return tuple(torch.cat(parts) for parts in zip(*states, strict=True)) if len(states) > 1 else states[0]
