"""What a brick sees of one step: two views of each of B images."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from legogcd.bricks.shared.precision import at_least_float32
from legogcd.errors import UserError

Seen = Literal["both", "first"]  # which of an image's two views a term is over


@dataclass
class TwoViews:
    """One step's two views of B images, after the model.

    >>> views = TwoViews(
    ...     projections=torch.zeros(2, 3, 8), logits=torch.zeros(2, 3, 5), labels=torch.tensor([1, -1, 0]),
    ...     n_known=2, epoch=0,
    ... )
    >>> views.labelled
    tensor([ True, False,  True])
    >>> views.log_probabilities(0.1).exp()[0, 0]
    tensor([0.2000, 0.2000, 0.2000, 0.2000, 0.2000])
    """

    projections: Tensor  # [2, B, P]  raw: the contrastive bricks normalize
    logits: Tensor  # [2, B, K]  cosine to the prototypes, Old classes first
    labels: Tensor  # [B], -1 = unlabelled
    n_known: int
    epoch: int
    features: Tensor | None = None  # [2, B, D]; for the methods that compare features
    index: Tensor | None = None  # [B] position in the collection
    prototypes: Tensor | None = None  # [K, D]  raw; for the bricks that compare prototypes

    @property
    def labelled(self) -> Tensor:
        """Which images carry a label: [B], boolean."""
        return self.labels >= 0

    @property
    def labelled_views(self) -> Tensor:
        """Which views show an image with a label: [2, B], boolean."""
        return self.labelled.repeat(2, 1)

    @property
    def all_views(self) -> Tensor:
        """Every view: [2, B], all True."""
        return torch.ones(2, len(self.labels), dtype=torch.bool, device=self.labels.device)

    def views_of(self, seen: "Seen") -> Tensor:
        """Every view, or the first ones: [2, B], boolean."""
        mask = self.all_views
        if seen == "first":
            mask[1] = False
        return mask

    def raw_projections(self) -> Tensor:
        """The projections in float32 at least: [2, B, P]."""
        return self._per_view("projections", self.projections)

    def scaled_logits(self, temperature: float) -> Tensor:
        """z/τ in float32 at least: [2, B, K]."""
        return self._per_view("logits", self.logits) / temperature

    def log_probabilities(self, temperature: float) -> Tensor:
        """log softmax(z/τ) in float32 at least: [2, B, K]."""
        return torch.log_softmax(self.scaled_logits(temperature), dim=-1)

    def _per_view(self, name: str, values: Tensor) -> Tensor:
        # Checked here, not on construction: a method may leave out what none of its bricks reads.
        if self.labels.ndim != 1 or values.ndim != 3 or values.shape[:2] != (2, len(self.labels)):
            raise UserError(
                f"{name} has shape {list(values.shape)} beside labels of shape {list(self.labels.shape)}; "
                f"give {name} as [2, B, dimensions] and labels as [B]."
            )
        return at_least_float32(values)
