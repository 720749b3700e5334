"""Recipes made of bricks. A method's name says what is in it."""

from legogcd.methods.base import CONFIDENT, Method, Step
from legogcd.methods.baselines.kmeans import directions
from legogcd.methods.choice import choose_recipe, default_method, recipe_names
from legogcd.methods.plug_ins import PLUG_INS
from legogcd.methods.recipe import ParametricRecipe, Recipe
from legogcd.methods.registry import (
    METHODS,
    build_method,
    check_method,
    default_recipe,
    method_entry,
    published_recipe,
)

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
    "directions",
    "method_entry",
    "published_recipe",
    "recipe_names",
]
