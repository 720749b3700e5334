"""The paper's printed figures and split sizes."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published() -> dict[str, Any]:
    """Figures and split sizes of LegoGCD (CVPR 2024), its tables' other rows and its released logs."""
    content: dict[str, Any] = json.loads(files("legogcd.paper").joinpath("published.json").read_text("utf-8"))
    return content
