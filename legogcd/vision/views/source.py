"""Where views come from."""

from typing import Protocol

import torch
from torch import Tensor

from legogcd.vision.tail import TailInput


class ViewSource(Protocol):
    """Where views come from: kept on disk or encoded afresh."""

    def pair(self, rows: Tensor, generator: torch.Generator) -> TailInput: ...

    def evaluation(self, rows: Tensor) -> TailInput: ...
