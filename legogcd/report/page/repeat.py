"""A run's settings as rows of a table, and the command that repeats it."""

import shlex
from collections.abc import Mapping
from typing import Any

from legogcd.methods import default_recipe
from legogcd.vision.backbones import family_of


def settings_rows(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Everything in config.json, one row a value.

    >>> settings_rows({"seed": 0, "views": {"kept": 4}, "known": ["owl", "hawk"]})
    [('known', 'owl, hawk'), ('seed', '0'), ('views kept', '4')]
    """
    rows = []
    for name, value in sorted(config.items()):
        if isinstance(value, Mapping):
            rows += settings_rows(value, f"{prefix}{name} ")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list) else "–" if value is None else str(value)
            rows.append((f"{prefix}{name}".replace("_", " "), text or "–"))
    return rows


def repeat_command(config: Mapping[str, Any]) -> str:
    """A `legogcd discover` line that computes the same, with the labels RUN had; RUN and NEW are for the reader."""
    backbone = config["backbone"]
    words = ["legogcd", "discover", shlex.quote(config["images"]["root"] or "IMAGES"), "--from", "RUN"]
    for option, value in {
        "classes": config["n_classes"],
        "method": config["method"],
        "backbone": backbone["name"],
        "image-size": backbone["image_size"],
        "train-blocks": backbone["train_blocks"],
        "views": config["views"]["kept"],
        "kept-dtype": config["views"]["dtype"],
        "held-out": config.get("held_out", 0.0),
        "seed": config["seed"],
        "device": config["device"],
        "precision": config["precision"],
        "threads": config["threads"],
    }.items():
        words += [f"--{option}", shlex.quote(str(value))]
    for name, value in _changed(config).items():
        words += ["--set", shlex.quote(f"{name}={value}")]
    return " ".join([*words, "--out", "NEW"])


def _changed(config: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe's settings that are not the default ones."""
    default = default_recipe(config["method"], family_of(config["backbone"]["name"])).model_dump(mode="json")
    return {name: value for name, value in config["recipe"].items() if default.get(name, value) != value}
