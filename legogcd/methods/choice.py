"""Which recipe trains: ours for anyone's photos, or a published one, by name."""

from collections.abc import Mapping
from typing import Any

from legogcd.errors import UserError
from legogcd.methods.published import published_recipes
from legogcd.methods.recipe import Recipe
from legogcd.methods.registry import method_entry
from legogcd.vision.backbones import family_defaults, family_of


def recipe_names() -> list[str]:
    """``default``, ``paper`` and the data sets'."""
    return ["default", "paper", *published_recipes()]


def default_method(recipe: str) -> str:
    """What trains where no method is named: ours with our recipe, the paper's with a published one.

    >>> default_method("default"), default_method("cub")
    ('legogcd+', 'legogcd')
    """
    return "legogcd+" if recipe == "default" else "legogcd"


def choose_recipe(
    name: str, method: str, backbone: str, settings: Mapping[str, Any] | None = None, train_blocks: int = 1
) -> Recipe:
    """A recipe by name, for a method and a backbone whose last blocks learn, with single settings changed.

    >>> choose_recipe("cifar100", "legogcd", "efficientnet-lite0", {"epochs": 30}).threshold
    0.85
    """
    if name == "default":
        recipe = default_recipe(method, family_of(backbone), train_blocks)
    elif name == "paper":
        recipe = published_recipe(method)
    elif name in published_recipes():
        recipe = published_recipe(method).with_settings(method_entry(method).published_for.get(name, {}))
    else:
        raise UserError(f"unknown recipe {name!r}; there are: {', '.join(recipe_names())}")
    return recipe.with_settings(settings or {})


def published_recipe(method: str) -> Recipe:
    """A method's settings as published; where they depend on the data set, CUB's."""
    return method_entry(method).recipe()


def default_recipe(method: str, family: str, train_blocks: int = 1) -> Recipe:
    """Our settings for people with photos, by method and backbone family, found by measurement (docs/results.md)."""
    entry = method_entry(method)
    return entry.recipe().with_settings({**family_defaults(family, train_blocks), **entry.for_photos})
