"""The settings that LegoGCD's paper and its released scripts have for single data sets."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published_recipes() -> dict[str, dict[str, Any]]:
    """What LegoGCD (CVPR 2024) and its released scripts set by data set."""
    text = files("legogcd.methods").joinpath("published_recipes.json").read_text("utf-8")
    recipes: dict[str, dict[str, Any]] = json.loads(text)
    return recipes


def published_settings() -> dict[str, dict[str, Any]]:
    """δ, ε and β of each data set, as settings of a recipe.

    >>> published_settings()["cub"]
    {'threshold': 0.7, 'mean_entropy_weight': 2, 'beta': 2}
    """
    names = ("threshold", "mean_entropy_weight", "beta")
    return {dataset: {name: row[name] for name in names} for dataset, row in published_recipes().items()}


def simgcd_settings() -> dict[str, dict[str, Any]]:
    """The same for SimGCD, whose authors have another ε where the table says so.

    >>> simgcd_settings()["cifar100"]["mean_entropy_weight"]
    4
    """
    settings = published_settings()
    for dataset, row in published_recipes().items():
        if "simgcd_mean_entropy_weight" in row:
            settings[dataset]["mean_entropy_weight"] = row["simgcd_mean_entropy_weight"]
    return settings


def released_settings() -> dict[str, dict[str, Any]]:
    """The same for the released code, whose ImageNet-1k run has no margin.

    >>> released_settings()["imagenet1k"]["margin_strength"]
    0.0
    """
    settings = published_settings()
    settings["imagenet1k"]["margin_strength"] = 0.0
    return settings
