"""The published settings by data set, and ours for photos, by name."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from legogcd.errors import UserError
from legogcd.methods.recipe import ParametricRecipe, Recipe
from legogcd.methods.registry import default_recipe, published_recipe
from legogcd.vision.backbones import family_of


@cache
def published_recipes() -> dict[str, dict[str, Any]]:
    """What LegoGCD (CVPR 2024) and its released scripts set by data set."""
    text = files("legogcd.methods").joinpath("published_recipes.json").read_text("utf-8")
    recipes: dict[str, dict[str, Any]] = json.loads(text)
    return recipes


_FINE_GRAINED = ("cub", "stanford_cars", "fgvc_aircraft", "herbarium_19")
_OTHERS: dict[str, dict[str, dict[str, float]]] = {
    "rankstats": {
        **{name: {"learning_rate": 0.001} for name in _FINE_GRAINED},
        "cifar10": {"consistency_weight": 5.0, "consistency_ramp": 0.25},
    },
}


def recipe_names() -> list[str]:
    """``default``, ``paper`` and the data sets'."""
    return ["default", "paper", *published_recipes()]


def default_method(recipe: str) -> str:
    """What trains where no method is named: ours with our recipe, the paper's with a published one.

    >>> default_method("default"), default_method("cub")
    ('legogcd+', 'legogcd')
    """
    return "legogcd+" if recipe == "default" else "legogcd"


def choose_recipe(name: str, method: str, backbone: str, settings: Mapping[str, Any] | None = None) -> Recipe:
    """A recipe by name, for a method and a backbone, with single settings changed.

    >>> choose_recipe("cifar100", "legogcd", "efficientnet-lite0", {"epochs": 30}).threshold
    0.85
    """
    if name == "default":
        recipe = default_recipe(method, family_of(backbone))
    elif name == "paper":
        recipe = published_recipe(method)
    elif name in published_recipes():
        recipe = published_recipe(method)
        recipe = recipe.with_settings(_published_settings(recipe, name, method))
    else:
        raise UserError(f"unknown recipe {name!r}; there are: {', '.join(recipe_names())}")
    return recipe.with_settings(settings or {})


def _published_settings(recipe: Recipe, dataset: str, method: str) -> dict[str, float]:
    """What a method's published recipe changes for a data set."""
    row = published_recipes()[dataset]
    if not isinstance(recipe, ParametricRecipe):
        return _OTHERS.get(method, {}).get(dataset, {})
    settings = {name: row[name] for name in ("threshold", "mean_entropy_weight", "beta")}
    if method == "simgcd":
        settings["mean_entropy_weight"] = row.get("simgcd_mean_entropy_weight", row["mean_entropy_weight"])
    if dataset == "imagenet1k" and method == "legogcd-released":
        settings["margin_strength"] = 0.0  # the released run has no margin there
    return settings
