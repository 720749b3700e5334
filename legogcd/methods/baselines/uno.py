"""UNO+: several heads that learn balanced pseudo-labels from each other's views."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn

from legogcd.bricks import SwappedPrediction, TwoViews, confident_known
from legogcd.methods.base import CONFIDENT, Method, Step
from legogcd.methods.heads import Prototypes
from legogcd.methods.recipes.uno import UNORecipe


class UNO(Method):
    """UNO+: swapped prediction of balanced pseudo-labels by several heads.

    The known classes have one set of prototypes c on the feature h, shared by all heads; a head adds the new ones,
    behind an MLP g of its own (one hidden layer, batch norm, as published over one view at a time, ReLU):

    ``z = [ cos(h, c_1) … cos(h, c_known), cos(g(h), c'_1) … cos(g(h), c'_new) ]``.

    The loss is ½·(mean over the heads + mean over the over-clustering heads, which have three prototypes for each new
    class) of :class:`~legogcd.bricks.SwappedPrediction`. The head with the lowest mean loss in the current epoch
    predicts; the first one until there is a loss.

    UNO is published with random resized crops, color jitter, grayscale and blur. Over kept views only their crop and
    flip are applied.

    "A Unified Objective for Novel Class Discovery", ICCV 2021; with known classes among the unlabelled images (the +):
    "Generalized Category Discovery", CVPR 2022.

    >>> method = UNO(dim=8, n_classes=5, n_known=3, recipe=UNORecipe(head_hidden=16, head_out=4))
    >>> step = method.step(torch.randn(2, 6, 8), torch.tensor([0, 1, 2, -1, -1, -1]), epoch=0, index=torch.arange(6))
    >>> sorted(step.terms)
    ['over_clustering', 'swapped_prediction']
    >>> method.eval().logits(torch.randn(1, 8)).shape
    torch.Size([1, 5])
    """

    head_losses: Tensor
    steps: Tensor

    def __init__(self, dim: int, n_classes: int, n_known: int, recipe: UNORecipe) -> None:
        super().__init__()
        self.n_known = n_known
        self.recipe = recipe
        n_new = n_classes - n_known
        self.known = Prototypes(dim, n_known, recipe.renormalized)
        self.heads = build_heads(dim, n_new, recipe)
        self.over_heads = build_heads(dim, recipe.over_clustering * n_new, recipe)
        self.brick = SwappedPrediction(recipe.temperature, recipe.sinkhorn_epsilon, recipe.sinkhorn_iterations)
        self.register_buffer("head_losses", torch.zeros(recipe.heads))  # mean of this epoch's steps
        self.register_buffer("steps", torch.zeros(()))  # of this epoch

    @property
    def best_head(self) -> Tensor:
        """Position of the head that predicts: a scalar, left on the device."""
        return self.head_losses.argmin()

    def before_epoch(self, epoch: int, features: Callable[[], Iterator[Tensor]], labels: Tensor) -> None:
        self.head_losses.zero_()
        self.steps.zero_()

    def after_step(self) -> None:
        if self.recipe.renormalized:
            for module in self.modules():
                if isinstance(module, Prototypes):
                    module.renormalize()

    def step(self, features: Tensor, labels: Tensor, epoch: int, index: Tensor) -> Step:
        known = self.known(features)  # [2, B, known]
        views = TwoViews(features, known, labels, self.n_known, epoch, features, index)
        heads = [replace(views, logits=logits) for logits in self._joined(known, self.heads, features)]
        over_heads = [replace(views, logits=logits) for logits in self._joined(known, self.over_heads, features)]
        losses = torch.stack([self.brick(head) for head in heads])  # [heads]
        terms = {
            "swapped_prediction": losses.mean(),
            "over_clustering": torch.stack([self.brick(head) for head in over_heads]).mean(),
        }
        self._remember(losses.detach())
        selected = {name: self.brick.selected.sum() for name in terms}
        logits = torch.stack([head.logits for head in heads])  # [heads, 2, B, K]
        best = replace(views, logits=logits.index_select(0, self.best_head[None])[0])
        selected[CONFIDENT] = confident_known(best, self.recipe.threshold, self.recipe.temperature).sum()
        return Step((terms["swapped_prediction"] + terms["over_clustering"]) / 2, terms, selected)

    def _joined(self, known: Tensor, heads: Iterable[nn.Module], features: Tensor) -> Iterator[Tensor]:
        """Each head's logits, behind the known ones they share: [2, B, known + n_prototypes]."""
        for head in heads:
            if self.recipe.batch_norm == "both" or features.shape[1] == 1:  # one row has no spread to normalize by
                new = head(features.flatten(0, 1)).unflatten(0, features.shape[:2])
            else:
                new = torch.stack([head(view) for view in features])
            yield torch.cat([known, new], dim=-1)

    def _remember(self, losses: Tensor) -> None:
        self.steps += 1
        self.head_losses += (losses - self.head_losses) / self.steps

    def logits(self, features: Tensor) -> Tensor:
        """Of the best head, by the statistics its batch norm has gathered: never by those of ``features``."""
        head = self.heads[int(self.best_head)]
        mode = head.training
        new = head.eval()(features)  # [N, new]
        head.train(mode)
        return torch.cat([self.known(features), new], dim=-1)

    def probabilities(self, features: Tensor) -> Tensor:
        return (self.logits(features) / self.recipe.temperature).softmax(-1)


def build_heads(dim: int, n_prototypes: int, recipe: UNORecipe) -> nn.ModuleList:
    """``recipe.heads`` times MLP and prototypes: [N, dim] -> [N, n_prototypes] cosines."""
    hidden, out = recipe.head_hidden, recipe.head_out
    return nn.ModuleList(
        nn.Sequential(
            nn.Linear(dim, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, out),
            Prototypes(out, n_prototypes, recipe.renormalized),
        )
        for _ in range(recipe.heads)
    )
