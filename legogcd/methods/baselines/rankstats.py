"""RankStats+: one linear classifier for all classes, taught by labels, by pairs and by the other view."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from legogcd.bricks import RankStatistics, SupervisedCE, TwoViews, ViewConsistency, confident_known, sigmoid_ramp
from legogcd.bricks.shared.precision import at_least_float32
from legogcd.clustering import directions
from legogcd.methods.base import CONFIDENT, Method, Step
from legogcd.methods.kmeans_start import kmeans_centers
from legogcd.methods.recipes.rankstats import RankStatsRecipe

START_SCALE = 10.0  # a k-means start has cosines at temperature 0.1 for logits, as the cosine classifiers have


class RankStats(Method):
    """RankStats+: rank statistics with one head over all K classes.

    ``CE(labelled) + BCE(⟨p_i, p'_j⟩, s_ij) + w(t)·2·MSE(p, p')`` with p = softmax(W h + b) of the first view, p' of the
    second; s_ij = 1 where two unlabelled images have the same top-ranked feature dimensions, and w(t) =
    ``consistency_weight``·exp(−5(1 − t)²), t the part of the ramp that has passed.

    Han et al., "Automatically discovering and learning new visual categories with ranking statistics", ICLR 2020; one
    head for known and new classes as in Vaze et al., "Generalized category discovery", CVPR 2022.

    >>> method = RankStats(dim=8, n_classes=5, n_known=3, recipe=RankStatsRecipe())
    >>> step = method.step(torch.randn(2, 4, 8), torch.tensor([0, 2, -1, -1]), epoch=0, index=torch.arange(4))
    >>> list(step.terms)
    ['supervised_ce', 'rank_statistics', 'view_consistency']
    """

    def __init__(self, dim: int, n_classes: int, n_known: int, recipe: RankStatsRecipe) -> None:
        super().__init__()
        self.n_known = n_known
        self.recipe = recipe
        self.head = nn.Linear(dim, n_classes)
        self.supervised_ce = SupervisedCE(temperature=1.0, seen=recipe.supervised_views)
        self.rank_statistics = RankStatistics(recipe.top)
        self.view_consistency = ViewConsistency()

    def step(self, features: Tensor, labels: Tensor, epoch: int, index: Tensor) -> Step:
        logits = self.logits(features)  # [2, B, K]
        views = TwoViews(features, logits, labels, self.n_known, epoch, features=features, index=index)
        bricks = {
            "supervised_ce": self.supervised_ce,
            "rank_statistics": self.rank_statistics,
            "view_consistency": self.view_consistency,
        }
        terms = {name: brick(views) for name, brick in bricks.items()}
        consistency = self.consistency_weight(epoch) * terms["view_consistency"]
        loss = terms["supervised_ce"] + terms["rank_statistics"] + consistency
        selected = {name: brick.selected.sum() for name, brick in bricks.items()}
        selected[CONFIDENT] = confident_known(views, self.recipe.threshold, temperature=1.0).sum()
        return Step(loss, terms, selected)

    def consistency_weight(self, epoch: int) -> float:
        """The consistency's weight at ``epoch`` (from 0)."""
        recipe = self.recipe
        return recipe.consistency_weight * sigmoid_ramp(epoch, recipe.consistency_ramp * recipe.epochs)

    def logits(self, features: Tensor) -> Tensor:
        with torch.autocast(features.device.type, enabled=False):
            return self.head(at_least_float32(features))  # type: ignore[no-any-return]

    @torch.no_grad()
    def start(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        """Rows of W along the classes' directions, so long that a feature of mean norm has ten times its cosines."""
        centers = kmeans_centers(directions(features), labels, self.head.out_features, self.n_known, seed)  # [K, D]
        mean_norm = max(float(np.linalg.norm(features, axis=1).mean()), 1e-12)
        self.head.weight.copy_(F.normalize(centers, dim=-1) * (START_SCALE / mean_norm))
        self.head.bias.zero_()
