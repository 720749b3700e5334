"""GCD: contrastive learning of features, then semi-supervised k-means on them."""

import numpy as np
import torch
from torch import Tensor

from legogcd.bricks.info_nce import info_nce
from legogcd.bricks.sup_con import supervised_contrast
from legogcd.clustering import directions
from legogcd.methods.base import Step
from legogcd.methods.baselines.dino_head import DINOHead
from legogcd.methods.baselines.kmeans import NearestCenter
from legogcd.methods.kmeans_start import held_centers
from legogcd.methods.recipes.gcd import GCDRecipe


class GCD(NearestCenter):
    """GCD: ``(1-λ)·InfoNCE(τ 1) + λ·SupCon(τ 0.07)`` of a DINO head's output; no classifier is learned.

    When training is over, semi-supervised k-means clusters the features at length 1: labelled images stay in their
    class, which are the first clusters, and the others form among the unlabelled. An image belongs to the center
    nearest to its feature; see :class:`~legogcd.methods.baselines.kmeans.NearestCenter` for the confidence.

    "Generalized Category Discovery", CVPR 2022.

    >>> recipe = GCDRecipe(projector_hidden=8, bottleneck=4, projector_out=16)
    >>> method = GCD(dim=2, n_classes=2, n_known=1, recipe=recipe)
    >>> step = method.step(torch.randn(2, 3, 2), torch.tensor([0, 0, -1]), epoch=0, index=torch.arange(3))
    >>> sorted(step.terms)
    ['info_nce', 'sup_con']
    >>> method.finish(np.array([[1, 0], [3, 0.1], [0, 1], [0.1, 2]]), np.array([0, -1, -1, -1]), seed=0)
    >>> method.logits(torch.tensor([[5.0, 0.0], [0.0, 5.0]])).argmax(-1)
    tensor([0, 1])
    """

    def __init__(self, dim: int, n_classes: int, n_known: int, recipe: GCDRecipe) -> None:
        super().__init__(dim, n_classes)
        self.n_known, self.recipe = n_known, recipe
        self.projector = DINOHead(dim, recipe.projector_hidden, recipe.bottleneck, recipe.projector_out)

    def step(self, features: Tensor, labels: Tensor, epoch: int, index: Tensor) -> Step:
        cosines = self.projector.pairwise_cosines(features)  # [2B, 2B]
        terms = {
            "info_nce": info_nce(cosines, self.recipe.info_nce_temperature),
            "sup_con": supervised_contrast(cosines, labels, self.recipe.sup_con_temperature),
        }
        supervised = self.recipe.supervised_weight
        loss = (1 - supervised) * terms["info_nce"] + supervised * terms["sup_con"]
        selected = {"info_nce": labels.new_full((), len(cosines)), "sup_con": 2 * (labels >= 0).sum()}
        return Step(loss, terms, selected)

    def finish(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        recipe, k = self.recipe, len(self.centers)
        units = directions(features)
        centers = held_centers(units, labels, k, self.n_known, seed, recipe.n_init, seeding=recipe.seeding)
        self.centers.copy_(torch.from_numpy(centers))
