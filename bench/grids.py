"""What studies compare: named lists of variants. The first of a grid is what the others are held against."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from legogcd.training.views import Views


@dataclass(frozen=True)
class Variant:
    """One way to train: a method, what is changed in its recipe, and the views it sees."""

    name: str
    method: str = "legogcd"
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: str = "default"
    views: Views = 4


GRIDS: dict[str, tuple[Variant, ...]] = {
    "views": (
        Variant("fresh views", views="fresh"),
        *(Variant(f"{count} kept views", views=count) for count in (2, 4, 8, 16)),
    ),
}
