"""How an image becomes a feature: the one path that training's evaluation, prediction, report and review all take.

States come from views kept on disk (`stored_states`) or straight from the images (`streamed_states`); `features` takes
both through the tail.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from legogcd.collection import Images
from legogcd.vision.tail import TailInput
from legogcd.vision.views.draw import evaluation_view
from legogcd.vision.views.encode import BATCH_VIEWS, Encoder
from legogcd.vision.views.kept import KeptViews
from legogcd.vision.views.source import ViewSource
from legogcd.vision.views.tensor_format import stored_as
from legogcd.vision.views.workers import ahead

EVALUATION_BATCH = 256


class Compute(Protocol):
    """Where the arithmetic happens."""

    @property
    def device(self) -> torch.device: ...

    def autocast(self) -> torch.autocast: ...

    def backward(self, loss: Tensor) -> None: ...


class StateBatch(NamedTuple):
    """What the tail is given of some images: their rows, the state of their evaluation views, and unreadable rows."""

    rows: list[int]
    state: TailInput | None  # None where no image of the batch can be read
    unreadable: dict[int, str]


class FeatureBatch(NamedTuple):
    """Features [n, D] of some rows, and the rows that could not be read, with the reason."""

    rows: list[int]
    features: Tensor
    unreadable: dict[int, str]


def stored_states(source: ViewSource, rows: Tensor, device: torch.device) -> Iterator[StateBatch]:
    """States of the evaluation views of ``rows`` [N] in a source; kept ones are fetched while others are used."""

    def fetched() -> Iterator[StateBatch]:
        for batch in torch.split(rows, EVALUATION_BATCH) if len(rows) else ():  # no tail need bear an empty one
            yield StateBatch(batch.tolist(), on_device(source.evaluation(batch), device), {})

    return ahead(fetched()) if isinstance(source, KeptViews) else fetched()


def streamed_states(encoder: Encoder, images: Images, dtype: str) -> Iterator[StateBatch]:
    """States of images encoded on the way, rounded as views kept as ``dtype`` are; one batch is in memory at a time."""
    encoder.backbone.eval()
    stream = encoder.stream(
        images, range(len(images)), lambda row, image: evaluation_view(image, encoder.rule)[None], BATCH_VIEWS
    )
    for rows, state, unreadable in stream:
        if state is None:
            yield StateBatch(rows, None, unreadable)
            continue
        halves = zip(state, encoder.backbone.half, strict=True)
        rounded = tuple(stored_as(tensor, dtype) if half else tensor for tensor, half in halves)
        yield StateBatch(rows, rounded, unreadable)


@torch.no_grad()
def features(tail: nn.Module, states: Iterable[StateBatch], compute: Compute) -> Iterator[FeatureBatch]:
    """Features [n, D] in float32, batch by batch."""
    tail.eval()
    for rows, state, unreadable in states:
        if state is None:
            yield FeatureBatch([], torch.empty(0), unreadable)
            continue
        with compute.autocast():
            found = tail(state)
        yield FeatureBatch(rows, found.float(), unreadable)


def stacked(batches: Iterable[Tensor], count: int) -> np.ndarray:
    """Batches [n, D] as one array [N, D], of ``count`` rows at most; each batch may go when it is in it."""
    rows: np.ndarray = np.zeros((0, 0), np.float32)
    done = 0
    for batch in batches:
        if not done:
            rows = np.empty((count, batch.shape[1]), np.float32)
        rows[done : done + len(batch)] = batch.cpu().numpy()
        done += len(batch)
    return rows[:done]


def on_device(state: TailInput, device: torch.device) -> TailInput:
    return tuple(part.to(device, non_blocking=True) for part in state)
