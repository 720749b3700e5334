"""What the loop asks of a method, and nothing more: a loss by terms, a prediction, a start and an end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

CONFIDENT = "confident_known"  # what LER selects or would select, counted for every method with a classifier


@dataclass
class Step:
    """One step's outcome: the scalar to descend, its unweighted terms and what each brick selected, by name."""

    loss: Tensor
    terms: dict[str, Tensor] = field(default_factory=dict)
    selected: dict[str, Tensor] = field(default_factory=dict)  # counts, left on the device


class Method(nn.Module):
    """Heads, bricks and a way to predict, over the backbone's features.

    What it learns is in parameters and buffers of fixed shape, so that a saved or resumed method is the same one.
    """

    predicts_while_training: ClassVar[bool] = True  # False: `finish` must come first
    logits_are_cosines: bool = False  # to prototypes that were learned from the images

    def settles(self, n_images: int) -> bool:
        """Whether `finish` has something to do though the method predicts already; it then gets averaged features."""
        return False

    def step(self, features: Tensor, labels: Tensor, epoch: int, index: Tensor) -> Step:
        """features [2, B, D] of two views, labels [B] (-1 = unlabelled), index [B] in the collection."""
        raise TypeError(f"{type(self).__name__} does not train")

    def row_by_row(self) -> list[nn.Module]:
        """Parts that a step gives [2, B, D] and that treat every row alone: several processes may share the rows."""
        return []

    def after_step(self) -> None:
        """Put in order what the optimizer moved, where the method asks for it."""

    def logits(self, features: Tensor) -> Tensor:
        """features [N, D] -> [N, K], Old classes first; the largest one is the prediction."""
        raise TypeError(f"{type(self).__name__} does not predict")

    def probabilities(self, features: Tensor) -> Tensor:
        """features [N, D] -> [N, K], each row sums to one; its maximum is the reported confidence."""
        return self.logits(features).softmax(-1)

    def start(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        """Begin from the untrained features [N, D] and the labels [N] they have, if the method can."""

    def before_epoch(self, epoch: int, features: Callable[[], Iterator[Tensor]], labels: Tensor) -> None:
        """Look at the collection before an epoch: ``features()`` walks all images' features in batches [n, D]."""

    def finish(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        """Settle what is predicted from the trained features [N, D], where training alone does not."""
