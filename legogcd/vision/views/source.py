"""Where views come from."""

from typing import Protocol

import torch
from torch import Tensor

from legogcd.vision.tail import TailInput

ALL = slice(None)


class ViewSource(Protocol):
    """Where views come from: kept on disk or encoded afresh."""

    def pair(self, rows: Tensor, generator: torch.Generator, part: slice = ALL) -> TailInput:
        """Two random views of each image of a batch, or of a part of it: what is drawn is the whole batch's."""
        ...

    def evaluation(self, rows: Tensor) -> TailInput: ...
