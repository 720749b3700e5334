"""What SimGCD, LegoGCD and legogcd+ are: one projector, one set of prototypes, and a sum of weighted bricks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from legogcd.bricks import Brick, PlugIn, TwoViews, confident_known
from legogcd.bricks.shared.plug_in import brick_settings
from legogcd.errors import UserError
from legogcd.methods.base import CONFIDENT, Method, Step
from legogcd.methods.heads import Prototypes, build_projector
from legogcd.methods.kmeans_start import kmeans_centers
from legogcd.methods.plugged_recipe import plug_in_settings, settings_taken_over
from legogcd.methods.recipe import ParametricRecipe


@dataclass(frozen=True)
class Term:
    """A term of a loss: its weight, its brick's class and what that is built with."""

    weight: float
    brick: type[Brick]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def exchanged(self, brick: type[Brick], **settings: Any) -> "Term":
        """Another brick in this one's place: at its weight, with the settings that both have and some of its own."""
        names = brick_settings(brick)
        both = {name: value for name, value in self.settings.items() if name in names}
        return Term(self.weight, brick, both | settings)


class Parametric(Method):
    """A parametric classifier trained by a weighted sum of bricks. A method says in `terms` which.

    The prototypes lie among the features, or among what a method makes of them in `seen`; those have ``seen_dim``
    dimensions then.
    """

    logits_are_cosines = True

    def __init__(
        self, dim: int, n_classes: int, n_known: int, recipe: ParametricRecipe, seen_dim: int | None = None
    ) -> None:
        super().__init__()
        self.n_known = n_known
        self.recipe = recipe
        self.projector = build_projector(dim, recipe.projector_hidden, recipe.projector_out)
        self.prototypes = Prototypes(seen_dim or dim, n_classes)
        terms = plugged_terms(type(self), recipe)
        self.weights = {name: term.weight for name, term in terms.items()}
        self.bricks = nn.ModuleDict({name: term.brick(**term.settings) for name, term in terms.items()})

    @classmethod
    def terms(cls, recipe: ParametricRecipe) -> dict[str, Term]:
        """The terms of the loss by name; PAPER section 2's table, row by row."""
        raise NotImplementedError

    def seen(self, features: Tensor) -> Tensor:
        """What the prototypes see of the features [..., D]: here all there is."""
        return features

    def row_by_row(self) -> list[nn.Module]:
        return [self.projector]

    def step(self, features: Tensor, labels: Tensor, epoch: int, index: Tensor) -> Step:
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
        return self.prototypes(self.seen(features))  # type: ignore[no-any-return]

    def probabilities(self, features: Tensor) -> Tensor:
        return (self.logits(features) / self.recipe.student_temperature).softmax(-1)

    def start(self, features: np.ndarray, labels: np.ndarray, seed: int) -> None:
        """Known prototypes at the labelled means, new ones where semi-supervised k-means finds groups."""
        self.start_prototypes(features, labels, seed)

    def start_prototypes(
        self, seen: np.ndarray, labels: np.ndarray, seed: int, known_share: float = 0.0, exchange: bool = False
    ) -> None:
        """Put the prototypes where `kmeans_centers` finds classes in what they see [N, D]."""
        n_classes = len(self.prototypes.weight)
        self.prototypes.start_at(kmeans_centers(seen, labels, n_classes, self.n_known, seed, known_share, exchange))


def plugged_terms(method: type[Parametric], recipe: ParametricRecipe) -> dict[str, Term]:
    """A method's terms with the bricks that its name adds."""
    terms = method.terms(recipe)
    replaced: dict[str, str] = {}  # the terms that have been, and by which brick
    for plug_in in recipe.plug_ins:
        weight = getattr(recipe, f"{plug_in.name}.weight")
        settings = plug_in_settings(recipe, plug_in)
        if plug_in.replaces is None:
            if plug_in.name in terms:
                raise UserError(f"{plug_in.name} would hide the term of that name")
            taken_over = dict.fromkeys(settings_taken_over(plug_in), recipe.student_temperature)
            terms[plug_in.name] = Term(weight, plug_in.brick, taken_over | settings)
            continue
        name = _replaced_term(method.terms(recipe), plug_in)
        if name in replaced:
            raise UserError(f"{replaced[name]} and {plug_in.name} both replace {name}; name one of them")
        replaced[name] = plug_in.name
        term = terms[name].exchanged(plug_in.brick, **settings)
        terms[name] = term if weight is None else Term(weight, term.brick, term.settings)
    return terms


def _replaced_term(terms: Mapping[str, Term], plug_in: PlugIn) -> str:
    for name, term in terms.items():
        if term.brick is plug_in.replaces:
            return name
    if any(term.brick is plug_in.brick for term in terms.values()):
        raise UserError(f"{plug_in.name} is in it already")
    assert plug_in.replaces is not None
    raise UserError(f"{plug_in.name} takes the place of {plug_in.replaces.__name__}, which is not in it")
