"""What studies compare: named lists of variants. The first of a grid is what the others are held against."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from legogcd.methods import PLUG_INS
from legogcd.vision.views.opening import Views


@dataclass(frozen=True)
class Variant:
    """One way to train: a method, what is changed in its recipe, and the views it sees."""

    name: str
    method: str = "legogcd"
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: str = "default"
    views: Views = 4
    train_blocks: int = 1


SCREENED = {"dkl_form": "paper", "threshold": 0.85}  # where LegoGCD's default recipe stood when the screening began


def _screened(name: str, method: str = "legogcd", train_blocks: int = 1, **settings: Any) -> Variant:
    return Variant(name, method, SCREENED | settings, train_blocks=train_blocks)


def _whitened(name: str, method: str = "legogcd", train_blocks: int = 1, **settings: Any) -> Variant:
    return _screened(name, method, train_blocks, whitened_dim=64, **settings)


GRIDS: dict[str, tuple[Variant, ...]] = {
    "views": (
        Variant("fresh views", settings=SCREENED, views="fresh"),
        *(Variant(f"{count} kept views", settings=SCREENED, views=count) for count in (2, 4, 8, 16)),
    ),
    "forms": (
        _screened("LegoGCD"),
        Variant("SimGCD", "simgcd"),
        _screened("DKL not detached", dkl_detach=False),
        _screened("DKL symmetric", dkl_form="symmetric"),
        _screened("DKL as released", dkl_form="released"),
        _screened("no DKL", "simgcd+ler+map"),
        _screened("no MAP", margin_strength=0.0),
        _screened("MAP as released", margin_form="released"),
        _screened("p̃ at temperature 1", margin_temperature=1.0),
        _screened("no LER", "simgcd+dkl"),
        *(_screened(f"δ = {threshold}", threshold=threshold) for threshold in (0.7, 0.95)),
        _screened("δ adaptive", "legogcd+adaptive"),
        _screened("δ adaptive, from epoch 5", "legogcd+adaptive", threshold_warmup_epochs=5),
        _screened("δ = 0.7, from epoch 5", threshold=0.7, threshold_warmup_epochs=5),
        _screened("δ = 0.7, DKL as released", threshold=0.7, dkl_form="released"),
        _screened("δ = 0.7, DKL as released, β = 2", threshold=0.7, dkl_form="released", beta=2.0),
        _screened("δ = 0.7, DKL symmetric, β = 2", threshold=0.7, dkl_form="symmetric", beta=2.0),
    ),
    "rates": (
        _screened("LegoGCD"),
        *(_screened(f"rate {rate}", learning_rate=rate) for rate in (0.02, 0.1)),
        _screened("30 epochs", epochs=30),
        _screened("random start", start="random"),
        *(_screened(f"tail's rate × {rate}", tail_rate=rate) for rate in (0.0, 0.1)),
        _screened("two blocks, tail's rate × 0.1", train_blocks=2, tail_rate=0.1),
        _screened("teacher's warm-up over the whole run", teacher_warmup_epochs=15),
        *(_screened(f"ε = {weight}", mean_entropy_weight=weight) for weight in (1.0, 4.0)),
        _screened("λ = 0.5", supervised_weight=0.5),
    ),
    "bricks": (
        _screened("LegoGCD"),
        _whitened("whitened"),
        *(_whitened(f"whitened + {name}", f"legogcd+{name}") for name in PLUG_INS),
        _whitened("whitened + prior + consensus", "legogcd+prior+consensus"),
        _whitened("… 30 epochs", "legogcd+prior+consensus", epochs=30),
    ),
    "whitened": (
        _whitened("whitened"),
        _whitened("tail's rate × 0.1", tail_rate=0.1),
        _whitened("two blocks, tail's rate × 0.1", train_blocks=2, tail_rate=0.1),
        _whitened("ε = 1", mean_entropy_weight=1.0),
        _whitened("λ = 0.5", supervised_weight=0.5),
        _whitened("DKL symmetric", dkl_form="symmetric"),
        _whitened("DKL as released", dkl_form="released"),
        _whitened("30 epochs", epochs=30),
        _whitened("30 epochs, rate 0.1", epochs=30, learning_rate=0.1),
    ),
    "balance": (
        Variant("legogcd+", "legogcd+"),
        *(Variant(f"ε = {weight}", "legogcd+", {"mean_entropy_weight": weight}) for weight in (0.5, 1.0, 4.0)),
    ),
    "finals": (
        Variant("LegoGCD"),
        Variant("SimGCD", "simgcd"),
        Variant("legogcd+", "legogcd+"),
        Variant("legogcd+, 30 epochs", "legogcd+", {"epochs": 30}),
        Variant("k-means", "kmeans"),
        Variant("semi-supervised k-means", "sskmeans"),
        Variant("LegoGCD, the paper's recipe", settings={"epochs": 30}, recipe="paper"),
        Variant("SimGCD, the paper's recipe", "simgcd", {"epochs": 30}, "paper"),
    ),
}
