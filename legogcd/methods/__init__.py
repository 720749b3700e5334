"""Recipes made of bricks. A method's name says what is in it."""

from importlib import import_module
from pkgutil import walk_packages

from legogcd.bricks import PLUG_INS
from legogcd.methods.base import CONFIDENT, Method, Step
from legogcd.methods.choice import (
    choose_recipe,
    default_method,
    default_recipe,
    published_recipe,
    recipe_names,
)
from legogcd.methods.recipe import ParametricRecipe, Recipe
from legogcd.methods.registry import METHODS, build_method, check_method, method_entry, register, split_methods

__all__ = [
    "CONFIDENT",
    "METHODS",
    "PLUG_INS",
    "Method",
    "ParametricRecipe",
    "Recipe",
    "Step",
    "build_method",
    "check_method",
    "choose_recipe",
    "default_method",
    "default_recipe",
    "method_entry",
    "published_recipe",
    "recipe_names",
    "register",
    "split_methods",
]

# The methods of the paper's tables are listed in this order, whatever else registers itself in this folder behind them.
_LISTED_FIRST = ("kmeans", "gcd", "rankstats", "uno", "orca")
for _name in (*(f"legogcd.methods.baselines.{name}" for name in _LISTED_FIRST), "legogcd.methods.simgcd"):
    import_module(_name)
for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
