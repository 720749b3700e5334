"""What a brick may look at before an epoch: the whole collection as the model sees it then."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Collected:
    """All N images before an epoch, without gradient; what a brick makes of it, it makes anew before each.

    ``groups(levels)`` sorts them [levels, N]: into as many groups as there are classes, labelled images in theirs, then
    those into half as many, a quarter and so on.
    """

    features: Tensor  # [N, D]  what the prototypes see of the evaluation views
    projections: Tensor  # [N, P]  raw
    labels: Tensor  # [N], -1 = unlabelled
    n_classes: int
    n_known: int
    epoch: int
    groups: Callable[[int], Tensor]
