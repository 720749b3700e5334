"""SimGCD and LegoGCD: one projector, one set of prototypes, and a list of weighted bricks."""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from legogcd.bricks import Brick, PriorAlignment, TwoViews, confident_known
from legogcd.methods.base import CONFIDENT, Method, Step
from legogcd.methods.heads import Prototypes, build_projector
from legogcd.methods.kmeans_start import kmeans_centers
from legogcd.methods.legogcd_plus.known_share import known_share
from legogcd.methods.legogcd_plus.whitening import Whitening
from legogcd.methods.recipe import ParametricRecipe

_ROOM = 0.1  # of the unlabelled images, for those of new classes that look like known ones


class Parametric(Method):
    """A parametric classifier trained by a weighted sum of bricks.

    ``bricks`` maps a term's name to its weight and its brick; PAPER section 2's table, row by row.
    """

    def __init__(
        self,
        dim: int,
        n_classes: int,
        n_known: int,
        bricks: Mapping[str, tuple[float, Brick]],
        recipe: ParametricRecipe,
    ) -> None:
        super().__init__()
        self.n_known = n_known
        self.recipe = recipe
        self.projector = build_projector(dim, recipe.projector_hidden, recipe.projector_out)
        width = recipe.whitened_width(n_classes)
        self.whitening = Whitening(dim, width) if width else None
        self.prototypes = Prototypes(self.whitening.out if self.whitening else dim, n_classes)
        self.weights = {name: weight for name, (weight, _) in bricks.items()}
        self.bricks = nn.ModuleDict({name: brick for name, (_, brick) in bricks.items()})

    def step(self, features: Tensor, labels: Tensor, epoch: int, index: Tensor) -> Step:
        seen = self._seen(features)
        views = TwoViews(
            projections=self.projector(features),  # [2, B, P]
            logits=self.prototypes(seen),  # [2, B, K]
            labels=labels,
            n_known=self.n_known,
            epoch=epoch,
            features=seen,
            index=index,
            prototypes=self.prototypes.weight,  # [K, D]
        )
        bricks = dict(self.named_bricks())
        terms = {name: brick(views) for name, brick in bricks.items()}
        loss = torch.stack([self.weights[name] * term for name, term in terms.items()]).sum()
        selected = {name: brick.selected.sum() for name, brick in bricks.items()}
        selected[CONFIDENT] = confident_known(views, self.recipe.threshold, self.recipe.student_temperature).sum()
        return Step(loss, terms, selected)

    def named_bricks(self) -> Iterator[tuple[str, Brick]]:
        """The bricks by their terms' names."""
        for name, brick in self.bricks.items():
            assert isinstance(brick, Brick)
            yield name, brick

    def logits(self, features: Tensor) -> Tensor:
        return self.prototypes(self._seen(features))  # type: ignore[no-any-return]

    def _seen(self, features: Tensor) -> Tensor:
        """What the prototypes see of the features."""
        return self.whitening(features) if self.whitening else features

    def probabilities(self, features: Tensor) -> Tensor:
        return (self.logits(features) / self.recipe.student_temperature).softmax(-1)

    def start(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        """Known prototypes at the labelled means, new ones where semi-supervised k-means finds groups."""
        share = 0.0
        if self.whitening:
            share = self._expect(self.whitening.fit(features, labels), labels, seed)
            features = self.whitening.of(features)
        centers = kmeans_centers(features, labels, len(self.prototypes.weight), self.n_known, seed, share)
        self.prototypes.start_at(centers)

    def _expect(self, projected: np.ndarray, labels: np.ndarray, seed: int) -> float:
        """Tell the prior, if there is one, how many unlabelled images are surely of known classes; 0 if none is."""
        prior = next((brick for brick in self.bricks.values() if isinstance(brick, PriorAlignment)), None)
        found = known_share(projected, labels, seed) if prior else None
        if prior is None or found is None:
            return 0.0
        share = max(0.0, found - _ROOM)
        n_labelled, n_unlabelled = int((labels >= 0).sum()), int((labels < 0).sum())
        prior.expect(share, labelled=n_labelled / (n_labelled + share * n_unlabelled))
        return share
