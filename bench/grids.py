"""What studies compare: named lists of variants. The first of a grid is what the others are held against."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from legogcd.methods import PLUG_INS
from legogcd.training.views import Views


@dataclass(frozen=True)
class Variant:
    """One way to train: a method, what is changed in its recipe, and the views it sees."""

    name: str
    method: str = "legogcd"
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: str = "default"
    views: Views = 4
    train_blocks: int = 1


GRIDS: dict[str, tuple[Variant, ...]] = {
    "views": (
        Variant("fresh views", views="fresh"),
        *(Variant(f"{count} kept views", views=count) for count in (2, 4, 8, 16)),
    ),
    "bricks": (
        Variant("LegoGCD"),
        Variant("SimGCD", "simgcd"),
        *(Variant(f"LegoGCD + {name}", f"legogcd+{name}") for name in PLUG_INS),
    ),
    "white": (
        Variant("LegoGCD"),
        *(Variant(f"whitened to {d}", settings={"whitened_dim": d}) for d in (64, 96, 128)),
        Variant("whitened to 96, rate 0.02", settings={"whitened_dim": 96, "learning_rate": 0.02}),
        Variant("whitened to 96, tail's rate x 0.1", settings={"whitened_dim": 96, "tail_rate": 0.1}),
    ),
    "settings": (
        Variant("LegoGCD"),
        Variant("DKL as released", settings={"dkl_form": "released"}),
        Variant("no MAP", settings={"margin_strength": 0.0}),
        Variant("MAP as released", settings={"margin_form": "released"}),
        Variant("p̃ ten times as quick", settings={"margin_momentum": 0.99}),
        *(Variant(f"δ = {threshold}", settings={"threshold": threshold}) for threshold in (0.5, 0.7, 0.95)),
        *(Variant(f"rate {rate}", settings={"learning_rate": rate}) for rate in (0.02, 0.1)),
        *(Variant(f"tail's rate × {rate}", settings={"tail_rate": rate}) for rate in (0.1, 0.3)),
        *(Variant(f"ε = {weight}", settings={"mean_entropy_weight": weight}) for weight in (1.0, 4.0)),
        Variant("λ = 0.5", settings={"supervised_weight": 0.5}),
    ),
}
