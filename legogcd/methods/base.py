"""What the loop asks of a method, and nothing more: a loss by terms, a prediction, a start."""

from dataclasses import dataclass, field

import numpy as np
from torch import Tensor, nn


@dataclass
class Step:
    """One step's outcome: the scalar to descend, its unweighted terms and what each brick selected, by name."""

    loss: Tensor
    terms: dict[str, Tensor] = field(default_factory=dict)
    selected: dict[str, Tensor] = field(default_factory=dict)  # counts, left on the device


class Method(nn.Module):
    """Heads, bricks and a way to predict, over the backbone's features."""

    def step(self, features: Tensor, labels: Tensor, epoch: int, index: Tensor) -> Step:
        """features [2, B, D] of two views, labels [B] (-1 = unlabelled), index [B] in the collection."""
        raise TypeError(f"{type(self).__name__} does not train")

    def logits(self, features: Tensor) -> Tensor:
        """features [N, D] -> [N, K], Old classes first; the largest one is the prediction."""
        raise TypeError(f"{type(self).__name__} does not predict")

    def probabilities(self, features: Tensor) -> Tensor:
        """features [N, D] -> [N, K], each row sums to one; its maximum is the reported confidence."""
        return self.logits(features).softmax(-1)

    def start(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        """Begin from the untrained features [N, D] and the labels [N] they have, if the method can."""
