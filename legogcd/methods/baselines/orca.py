"""ORCA: a cosine classifier that holds known classes back while the unlabelled images are still unsure."""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from legogcd.bricks import AdaptiveMarginCE, MeanEntropy, NeighborPairs, TwoViews, confident_known
from legogcd.bricks.shared.two_views import Seen
from legogcd.methods.base import CONFIDENT, Method, Step
from legogcd.methods.heads import Prototypes
from legogcd.methods.kmeans_start import kmeans_centers
from legogcd.methods.recipe import Recipe
from legogcd.methods.registry import register


class ORCARecipe(Recipe):
    """ORCA's own scale, margin, weights and batches; how a ViT's last block is trained with it is ours.

    >>> ORCARecipe().rate_steps
    (0.7, 0.9)
    """

    batch_size: int = Field(512, ge=1)
    batches: Literal["balanced", "proportional"] = Field(
        "proportional", description="labelled and unlabelled images equally often, or as often as there are of them"
    )
    weight_decay: float = Field(5e-4, ge=0)
    decayed: Literal["matrices", "all"] = Field("all", description="all: weight decay on biases and norms too")
    schedule: Literal["cosine", "steps"] = "steps"
    rate_steps: tuple[float, ...] = Field(
        (0.7, 0.9), description="shares of the epochs after which the rate falls tenfold"
    )
    scale: float = Field(10.0, gt=0, description="s: what the cosines are multiplied with before a softmax")
    largest_margin: float = Field(0.5, ge=0, description="the margin follows the mean uncertainty up to this")
    mean_entropy_weight: float = Field(1.0, ge=0, description="weight of the mean-entropy regularizer")
    supervised_views: Seen = Field("first", description="which of an image's two views the cross entropy is over")
    entropy_views: Seen = Field("first", description="which views the mean entropy is over")
    threshold: float = Field(0.7, ge=0, le=1, description="δ: confidence from which a view is counted as a known one")


@register(
    "orca",
    "ORCA (ICLR 2022): neighbor pairs, uncertainty-adaptive margin",
    ORCARecipe,
    for_photos={
        "start": "kmeans",
        "learning_rate": 0.05,
        "batch_size": 128,
        "batches": "balanced",
        "weight_decay": 5e-5,
        "decayed": "matrices",
        "supervised_views": "both",
        "entropy_views": "both",
    },
    departures=("its authors give no recipe for a ViT: the learning rate and the last block alone are ours",),
)
class ORCA(Method):
    """ORCA: margins by uncertainty and pairs of neighbors for an open world.

    ``CE(labelled, margin −min(ū, 0.5)) + mean_i −log ⟨p_i, p'_j(i)⟩ + ε·(log K − H(p̄))`` with p = softmax(s·cos(h, c))
    of the first view, p' of the second; j(i) is i's nearest neighbor in the batch, for a labelled image a random one of
    its class. As published, cross entropy and p̄ are over first views; our recipe has both. ū is
    the mean of 1 − max p over the unlabelled images, measured before each epoch.

    Cao, Brbić, Leskovec, "Open-world semi-supervised learning", ICLR 2022.

    >>> method = ORCA(dim=8, n_classes=5, n_known=3, recipe=ORCARecipe())
    >>> method.before_epoch(0, lambda: iter([torch.randn(4, 8)]), torch.tensor([0, 2, -1, -1]))
    >>> step = method.step(torch.randn(2, 4, 8), torch.tensor([0, 2, -1, -1]), epoch=0, index=torch.arange(4))
    >>> list(step.terms)
    ['margin_ce', 'neighbor_pairs', 'mean_entropy']
    """

    logits_are_cosines = True

    def __init__(self, dim: int, n_classes: int, n_known: int, recipe: ORCARecipe) -> None:
        super().__init__()
        self.n_known = n_known
        self.recipe = recipe
        self.prototypes = Prototypes(dim, n_classes)
        self.margin_ce = AdaptiveMarginCE(recipe.scale, recipe.largest_margin, recipe.supervised_views)
        self.neighbor_pairs = NeighborPairs(temperature=1 / recipe.scale)
        self.mean_entropy = MeanEntropy(1 / recipe.scale, recipe.entropy_views)

    @torch.no_grad()
    def before_epoch(self, epoch: int, features: Callable[[], Iterator[Tensor]], labels: Tensor) -> None:
        """Measure ū: how unsure the classifier is of the unlabelled images as it stands."""
        unlabelled = (labels < 0).to(self.prototypes.weight.device)  # [N]
        doubt, begin = self.prototypes.weight.new_zeros(()), 0
        for batch in features():
            rest = 1 - self.probabilities(batch).amax(dim=-1)  # [n]
            doubt += torch.where(unlabelled[begin : begin + len(batch)], rest, 0).sum()
            begin += len(batch)
        self.margin_ce.uncertainty.copy_(doubt / unlabelled.sum().clamp_min(1))

    def step(self, features: Tensor, labels: Tensor, epoch: int, index: Tensor) -> Step:
        logits = self.logits(features)  # [2, B, K]
        views = TwoViews(features, logits, labels, self.n_known, epoch, features=features, index=index)
        bricks = {
            "margin_ce": self.margin_ce,
            "neighbor_pairs": self.neighbor_pairs,
            "mean_entropy": self.mean_entropy,
        }
        terms = {name: brick(views) for name, brick in bricks.items()}
        entropy = self.recipe.mean_entropy_weight * terms["mean_entropy"]
        loss = terms["margin_ce"] + terms["neighbor_pairs"] + entropy
        selected = {name: brick.selected.sum() for name, brick in bricks.items()}
        selected[CONFIDENT] = confident_known(views, self.recipe.threshold, 1 / self.recipe.scale).sum()
        return Step(loss, terms, selected)

    def logits(self, features: Tensor) -> Tensor:
        return self.prototypes(features)  # type: ignore[no-any-return]

    def probabilities(self, features: Tensor) -> Tensor:
        return (self.recipe.scale * self.logits(features)).softmax(-1)

    def start(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        """Known prototypes at the labelled means, new ones where semi-supervised k-means finds groups."""
        n_classes = len(self.prototypes.weight)
        self.prototypes.start_at(kmeans_centers(features, labels, n_classes, self.n_known, seed))
