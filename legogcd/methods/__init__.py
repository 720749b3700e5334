"""Recipes made of bricks. A method's name says what is in it.

What the methods are called, what they are and which settings they have is known without torch; what is built of it,
`Method` and `Step`, is loaded when it is first used.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from legogcd.methods import extra_bricks, recipes
from legogcd.methods.choice import (
    choose_recipe,
    default_method,
    default_recipe,
    published_recipe,
    recipe_names,
)
from legogcd.methods.plug_in import PLUG_INS, PlugIn, plug_in
from legogcd.methods.recipe import ParametricRecipe, Recipe
from legogcd.methods.registry import METHODS, build_method, check_method, method_entry, register, split_methods
from legogcd.methods.terms import Term

if TYPE_CHECKING:
    from legogcd.methods.base import CONFIDENT, Method, Step

__all__ = [
    "CONFIDENT",
    "METHODS",
    "PLUG_INS",
    "Method",
    "ParametricRecipe",
    "PlugIn",
    "Recipe",
    "Step",
    "Term",
    "build_method",
    "check_method",
    "choose_recipe",
    "default_method",
    "default_recipe",
    "method_entry",
    "plug_in",
    "published_recipe",
    "recipe_names",
    "register",
    "split_methods",
]

# The methods of the paper's tables are listed in this order, whatever else registers itself behind them.
_LISTED_FIRST = ("kmeans", "gcd", "rankstats", "uno", "orca", "simgcd")
for _name in _LISTED_FIRST:
    import_module(f"{recipes.__name__}.{_name}")
for _folder in (recipes, extra_bricks):
    for _module in iter_modules(_folder.__path__):
        import_module(f"{_folder.__name__}.{_module.name}")


def __getattr__(name: str) -> Any:
    if name in ("CONFIDENT", "Method", "Step"):
        return getattr(import_module("legogcd.methods.base"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
