"""The paper's recipes and published figures."""

from legogcd.paper.recipes import choose_recipe, published, recipe_names

__all__ = ["choose_recipe", "published", "recipe_names"]
