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


_WHITENED = {"whitened_dim": 64}

GRIDS: dict[str, tuple[Variant, ...]] = {
    "views": (
        Variant("fresh views", views="fresh"),
        *(Variant(f"{count} kept views", views=count) for count in (2, 4, 8, 16)),
    ),
    "bricks": (
        Variant("LegoGCD"),
        Variant("SimGCD", "simgcd"),
        Variant("LegoGCD, whitened", settings=_WHITENED),
        *(Variant(f"whitened + {name}", f"legogcd+{name}", _WHITENED) for name in PLUG_INS),
    ),
    "forms": (
        Variant("LegoGCD"),
        Variant("DKL not detached", settings={"dkl_detach": False}),
        Variant("DKL symmetric", settings={"dkl_form": "symmetric"}),
        Variant("DKL as released", settings={"dkl_form": "released"}),
        Variant("no DKL", "simgcd+ler+map"),
        Variant("no MAP", settings={"margin_strength": 0.0}),
        Variant("MAP as released", settings={"margin_form": "released"}),
        Variant("p̃ at temperature 1", settings={"margin_temperature": 1.0}),
        Variant("no LER", "simgcd+dkl"),
        *(Variant(f"δ = {threshold}", settings={"threshold": threshold}) for threshold in (0.7, 0.95)),
        Variant("δ adaptive", "legogcd+adaptive"),
    ),
    "finals": (
        Variant("LegoGCD"),
        Variant("SimGCD", "simgcd"),
        Variant("legogcd+", "legogcd+"),
        Variant("k-means", "kmeans"),
        Variant("semi-supervised k-means", "sskmeans"),
        Variant("LegoGCD, the paper's recipe", settings={"epochs": 30}, recipe="paper"),
        Variant("SimGCD, the paper's recipe", "simgcd", {"epochs": 30}, "paper"),
    ),
    "rates": (
        Variant("LegoGCD"),
        *(Variant(f"rate {rate}", settings={"learning_rate": rate}) for rate in (0.02, 0.1)),
        Variant("30 epochs", settings={"epochs": 30}),
        Variant("random start", settings={"start": "random"}),
        *(Variant(f"tail's rate × {rate}", settings={"tail_rate": rate}) for rate in (0.0, 0.1)),
        Variant("two blocks, tail's rate × 0.1", settings={"tail_rate": 0.1}, train_blocks=2),
        Variant("teacher's warm-up over the whole run", settings={"teacher_warmup_epochs": 15}),
        *(Variant(f"ε = {weight}", settings={"mean_entropy_weight": weight}) for weight in (1.0, 4.0)),
        Variant("λ = 0.5", settings={"supervised_weight": 0.5}),
    ),
}
