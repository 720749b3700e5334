"""The paper's data sets, splits, recipes and published figures."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from legogcd.paper.recipes import choose_recipe, default_method, published, recipe_names

__all__ = ["choose_recipe", "default_method", "published", "recipe_names"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # imported on first use: listing data sets need not wait for torch
        from legogcd.paper import recipes

        return getattr(recipes, name)
    raise AttributeError(f"module 'legogcd.paper' has no attribute {name!r}")
