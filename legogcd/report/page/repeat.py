"""A run's settings as rows of a table, and the command that repeats it."""

import shlex
from collections.abc import Mapping
from typing import Any

from legogcd.run.config import RunConfig


def settings_rows(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Everything in config.json, one row per value.

    >>> settings_rows({"seed": 0, "images": {"count": 4}, "known": ["owl", "hawk"]})
    [('images count', '4'), ('known', 'owl, hawk'), ('seed', '0')]
    """
    rows = []
    for name, value in sorted(config.items()):
        if isinstance(value, Mapping):
            rows += settings_rows(value, f"{prefix}{name} ")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list) else "–" if value is None else str(value)
            rows.append((f"{prefix}{name}".replace("_", " "), text or "–"))
    return rows


def repeat_command(config: RunConfig) -> str:
    """A `legogcd discover` line that computes the same, with the labels RUN had; RUN and NEW are for the reader."""
    images = shlex.quote(config.images.root or "IMAGES")
    return " ".join(["legogcd", "discover", images, "--from", "RUN", *config.options.words(), "--out", "NEW"])
