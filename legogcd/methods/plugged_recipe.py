"""A recipe with the settings of the bricks that a method's name adds: ``prior.uniform_share``, ``prior.weight``."""

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Self

from pydantic import Field, create_model

from legogcd.errors import UserError
from legogcd.late_objects import late
from legogcd.methods.plug_in import PLUG_INS, PlugIn
from legogcd.methods.recipe import ParametricRecipe


@cache
def plugged_recipe(base: type[ParametricRecipe], plug_ins: tuple[PlugIn, ...]) -> type[ParametricRecipe]:
    """``base`` with the settings of some bricks.

    What a brick takes over, a replaced brick's weight or a temperature that the recipe has, is None unless it is set.

    >>> recipe = plugged_recipe(ParametricRecipe, (PLUG_INS["prior"],))().with_settings({"prior.uniform_share": "0.3"})
    >>> plug_in_settings(recipe, PLUG_INS["prior"])
    {'prior_temperature': 0.05, 'uniform_share': 0.3, 'momentum': 0.99}
    """
    fields: dict[str, Any] = {}
    for plug_in in plug_ins:
        fields |= {f"{plug_in.name}.{name}": said for name, said in plug_in.settings.items()}
        kind, default = (float | None, None) if plug_in.replaces else (float, plug_in.weight)
        fields[f"{plug_in.name}.weight"] = (kind, Field(default, ge=0))
    name = f"{base.__name__}:{','.join(plug_in.name for plug_in in plug_ins)}"
    create: Any = create_model  # mypy's plug-in would read more into it than it can know
    recipe: type[_Plugged] = create(name, __base__=(_Plugged, base), **fields)
    recipe.base, recipe.plug_ins = base, plug_ins
    return recipe


def plug_in_settings(recipe: ParametricRecipe, plug_in: PlugIn) -> dict[str, Any]:
    """What a recipe sets of a brick, by the names of its constructor; without what is taken over."""
    given = {name: getattr(recipe, f"{plug_in.name}.{name}") for name in plug_in.settings}
    may_be_taken_over = {name for name, (_, field) in plug_in.settings.items() if field.default is None}
    return {name: value for name, value in given.items() if not (name in may_be_taken_over and value is None)}


class _Plugged(ParametricRecipe):
    """What recipes made here have in common."""

    base: ClassVar[type[ParametricRecipe]]

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        changed = super().with_settings(settings)
        for plug_in in changed.plug_ins:
            if plug_in.at_hand:  # a brick knows which values it takes; of the others the limits are said
                try:
                    late(plug_in.brick)(**plug_in_settings(changed, plug_in))
                except UserError as mistake:
                    raise UserError(f"{plug_in.name}: {mistake}") from None
        return changed

    def __reduce__(self) -> tuple[Any, ...]:  # another process makes the class anew
        names = tuple(plug_in.name for plug_in in self.plug_ins)
        return _restored, (self.base, names, self.model_dump())


def _restored(base: type[ParametricRecipe], bricks: tuple[str, ...], settings: dict[str, Any]) -> ParametricRecipe:
    return plugged_recipe(base, tuple(PLUG_INS[brick] for brick in bricks))(**settings)
