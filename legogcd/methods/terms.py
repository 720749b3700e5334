"""What a method's loss is made of: weighted bricks, said by name. Nothing is built here, and torch is not needed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from legogcd.errors import UserError
from legogcd.late_objects import late, plain_name
from legogcd.methods.plug_in import TEMPERATURES, PlugIn
from legogcd.methods.plugged_recipe import plug_in_settings
from legogcd.methods.recipe import ParametricRecipe

if TYPE_CHECKING:
    from legogcd.bricks import Brick


@dataclass(frozen=True)
class Term:
    """A term of a loss: its weight, its brick and what that is built with.

    The brick is a class, one of `legogcd.bricks` by its name, or ``module:name``. A weight that rises does so in a
    straight line over the run, from 1 − ``rise`` to 1 + ``rise`` times itself.

    >>> term = Term(1.0, "MeanEntropy", {"temperature": 0.2}, rise=0.25)
    >>> term.built().temperature, [term.weight_at(passed) for passed in (0.0, 0.5, 1.0)]
    (0.2, [0.75, 1.0, 1.25])
    """

    weight: float
    brick: "type[Brick] | str"
    settings: Mapping[str, Any] = field(default_factory=dict)
    rise: float = 0.0

    def weight_at(self, passed: float) -> float:
        """The weight when this share of the run has passed."""
        return self.weight * (1 + self.rise * (2 * passed - 1))

    def exchanged(self, plug_in: PlugIn, **settings: Any) -> "Term":
        """Another brick in this one's place: at its weight, with the settings that both have and some of its own."""
        both = {name: value for name, value in self.settings.items() if name in plug_in.settings}
        return replace(self, brick=plug_in.brick, settings=both | settings)

    def built(self) -> "Brick":
        """The brick itself."""
        short = isinstance(self.brick, str) and ":" not in self.brick
        brick: Brick = late(f"legogcd.bricks:{self.brick}" if short else self.brick)(**self.settings)
        return brick


Terms = Callable[[ParametricRecipe], dict[str, Term]]
"""The terms of a loss by name, for a recipe."""


def plugged_terms(terms_of: Terms, recipe: ParametricRecipe) -> dict[str, Term]:
    """A method's terms with the bricks that its name adds."""
    plain = terms_of(recipe)
    terms = dict(plain)
    replaced: dict[str, str] = {}  # the terms that have been, and by which brick
    for plug_in in recipe.plug_ins:
        weight = getattr(recipe, f"{plug_in.name}.weight")
        settings = plug_in_settings(recipe, plug_in)
        if plug_in.replaces is None:
            if plug_in.name in terms:
                raise UserError(f"{plug_in.name} would hide the term of that name")
            taken_over = [name for name in TEMPERATURES if name in plug_in.settings]
            given = dict.fromkeys(taken_over, recipe.student_temperature) | settings
            terms[plug_in.name] = Term(weight, plug_in.brick, given)
            continue
        name = _replaced_term(plain, plug_in)
        if name in replaced:
            raise UserError(f"{replaced[name]} and {plug_in.name} both replace {name}; name one of them")
        replaced[name] = plug_in.name
        term = terms[name].exchanged(plug_in, **settings)
        terms[name] = term if weight is None else replace(term, weight=weight)
    return terms


def _replaced_term(terms: Mapping[str, Term], plug_in: PlugIn) -> str:
    bricks = {plain_name(term.brick): name for name, term in terms.items()}
    replaces = plain_name(plug_in.replaces)
    if replaces in bricks:
        return bricks[replaces]
    if plain_name(plug_in.brick) in bricks:
        raise UserError(f"{plug_in.name} is in it already")
    raise UserError(f"{plug_in.name} takes the place of {replaces}, which is not in it")
