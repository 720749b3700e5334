"""What SimGCD, LegoGCD and legogcd+ are: one projector, one set of prototypes, and a sum of weighted bricks."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from legogcd.bricks import Brick, Collected, TwoViews, confident_known
from legogcd.clustering import directions
from legogcd.methods.base import CONFIDENT, Method, Step
from legogcd.methods.heads import Prototypes, build_projector
from legogcd.methods.hyperbolic import HyperbolicPrototypes
from legogcd.methods.kmeans_start import kmeans_centers
from legogcd.methods.nested_groups import nested_groups
from legogcd.methods.recipe import ParametricRecipe
from legogcd.methods.steering import Steering
from legogcd.methods.terms import Term


class Parametric(Method):
    """A parametric classifier trained by a weighted sum of bricks, the ``terms``: SimGCD, LegoGCD, what is between.

    The prototypes lie among the features, or among what a method makes of them in `seen`; those have ``seen_dim``
    dimensions then.
    """

    def __init__(
        self,
        dim: int,
        n_classes: int,
        n_known: int,
        recipe: ParametricRecipe,
        terms: Mapping[str, Term],
        seen_dim: int | None = None,
    ) -> None:
        super().__init__()
        self.n_known = n_known
        self.recipe = recipe
        self.projector = build_projector(dim, recipe.projector_hidden, recipe.projector_out)
        self.steering = Steering(dim, n_known, recipe.steering) if recipe.steering else None
        self.prototypes = build_prototypes(seen_dim or dim, n_classes, recipe)
        self.logits_are_cosines = recipe.head == "cosine"
        self.terms = dict(terms)
        self.bricks = nn.ModuleDict({name: term.built() for name, term in terms.items()})
        for _, brick in self.named_bricks():
            brick.sized(seen_dim or dim, n_classes, n_known)

    def seen(self, features: Tensor) -> Tensor:
        """What the prototypes see of the features [..., D]: here all there is."""
        return features

    def row_by_row(self) -> list[nn.Module]:
        return [self.projector]

    @torch.no_grad()
    def before_epoch(self, epoch: int, features: Callable[[], Iterator[Tensor]], labels: Tensor) -> None:
        """Show the collection to the bricks that look at it; before the first epoch, to steering."""
        if self.steering and epoch == 0:
            self.steering.find(features(), labels)
        looking = [brick for _, brick in self.named_bricks() if brick.looks]
        if not looking:
            return
        parts = [(self.seen(batch), self.projector(batch)) for batch in features()]
        seen, projections = (torch.cat(part) for part in zip(*parts, strict=True))
        k = len(self.prototypes.weight)

        def groups(levels: int) -> Tensor:
            points = directions(seen.cpu().numpy())
            found = nested_groups(points, labels.numpy(), k, self.n_known, levels, seed=epoch)
            return torch.from_numpy(found).to(seen.device)

        for brick in looking:
            brick.look(Collected(seen, projections, labels.to(seen.device), k, self.n_known, epoch, groups))

    def step(self, features: Tensor, labels: Tensor, epoch: int, index: Tensor) -> Step:
        features = self.steering(features, labels) if self.steering else features
        seen = self.seen(features)
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
        weights = self.weights(self.recipe.passed(epoch))
        loss = torch.stack([weights[name] * term for name, term in terms.items()]).sum()
        selected = {name: brick.selected.sum() for name, brick in bricks.items()}
        selected[CONFIDENT] = confident_known(views, self.recipe.threshold, self.recipe.student_temperature).sum()
        return Step(loss, terms, selected)

    def weights(self, passed: float = 0.5) -> dict[str, float]:
        """The terms' weights when this share of the run has passed; half way by default, where none has risen."""
        return {name: term.weight_at(passed) for name, term in self.terms.items()}

    def named_bricks(self) -> Iterator[tuple[str, Brick]]:
        """The bricks by their terms' names."""
        for name, brick in self.bricks.items():
            assert isinstance(brick, Brick)
            yield name, brick

    def logits(self, features: Tensor) -> Tensor:
        return self.prototypes(self.seen(features))  # type: ignore[no-any-return]

    def probabilities(self, features: Tensor) -> Tensor:
        return (self.logits(features) / self.recipe.student_temperature).softmax(-1)

    def start(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        """Known prototypes at the labelled means, new ones where semi-supervised k-means finds groups."""
        self.start_prototypes(directions(features), labels, seed)

    def start_prototypes(
        self, units: np.ndarray, labels: np.ndarray, seed: int, known_share: float = 0.0, exchange: bool = False
    ) -> None:
        """Put the prototypes where `kmeans_centers` finds classes in what they see, at length 1 [N, D]."""
        n_classes = len(self.prototypes.weight)
        self.prototypes.start_at(kmeans_centers(units, labels, n_classes, self.n_known, seed, known_share, exchange))


def build_prototypes(dim: int, n_classes: int, recipe: ParametricRecipe) -> Prototypes:
    """The recipe's head: cosines, or distances in a Poincaré ball."""
    if recipe.head == "hyperbolic":
        return HyperbolicPrototypes(dim, n_classes, recipe.curvature, recipe.clip_length)
    return Prototypes(dim, n_classes)
