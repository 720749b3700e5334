"""What studies compare: named lists of variants. The first of a grid is what the others are held against."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from legogcd.run.effort import EffortName


@dataclass(frozen=True)
class Variant:
    """One way to train: a method, what is changed in its recipe, the views it sees, the effort and the backbone."""

    name: str
    method: str = "legogcd"
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: str = "default"
    views: int | Literal["fresh"] | None = None  # the effort's: 4 of a normal one
    train_blocks: int | None = None  # the effort's: 1 of a normal one
    effort: EffortName = "normal"
    backbone: str | None = None  # the effort's: efficientnet-lite0 of a normal one


EVEN = {"supervised_rise": 0.0}  # where legogcd+ stood before labels weighed more from epoch to epoch
SCREENED = {"dkl_form": "paper", "threshold": 0.85}  # where LegoGCD's default recipe stood when the screening began


def _screened(name: str, method: str = "legogcd", train_blocks: int | None = None, **settings: Any) -> Variant:
    return Variant(name, method, SCREENED | settings, train_blocks=train_blocks)


def _three_networks(name: str, **settings: Any) -> Variant:
    """Thorough as it was when it had normal's recipe and depth, with other networks."""
    as_normal = {"settled_per_class": 3, "settle_on": "inertia"}
    return Variant(name, "legogcd+", as_normal | settings, train_blocks=1, effort="thorough")


def _ingredients(method: str, name: str) -> tuple[Variant, ...]:
    """A method, and the same with each ingredient of later work (docs/methods.md)."""
    return (
        Variant(name, method),
        Variant("contrast by groups of groups (SelEx)", f"{method}:hierarchy"),
        Variant("gradients steered off the known classes (EAGC)", method, {"steering": 1.0}),
        Variant("a head for known classes (RLCD)", f"{method}:known_head"),
        Variant("class-wise distributions (RLCD)", f"{method}:classwise"),
        Variant("hyperbolic distances (HypCD)", method, {"head": "hyperbolic"}),
        Variant("mean shift (CMS)", f"{method}:mean_shift"),
    )


def _difference(name: str, **settings: Any) -> Variant:
    return Variant(name, settings={"dkl_form": "paper"} | settings)


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
        _screened("prior", "legogcd:prior"),
        _screened("consensus", "legogcd:consensus"),
        _screened("prior and consensus", "legogcd:consensus,prior"),
        _screened("whitened as well", "legogcd+", whitened_dim=64),
    ),
    "balance": (
        Variant("legogcd+", "legogcd+", EVEN),
        *(Variant(f"ε = {weight}", "legogcd+", EVEN | {"mean_entropy_weight": weight}) for weight in (0.5, 1.0, 4.0)),
    ),
    "finals": (
        Variant("LegoGCD"),
        Variant("SimGCD", "simgcd"),
        Variant("legogcd+", "legogcd+"),
        Variant("legogcd+, labels weigh the same", "legogcd+", EVEN),
        Variant("legogcd+, 30 epochs, labels weigh the same", "legogcd+", EVEN | {"epochs": 30}),
        Variant("legogcd+, new classes start where images lie densest", "legogcd+", {"new_from": "density"}),
        Variant("k-means", "kmeans"),
        Variant("semi-supervised k-means", "sskmeans"),
        Variant("LegoGCD, the paper's recipe", settings={"epochs": 30}, recipe="paper"),
        Variant("SimGCD, the paper's recipe", "simgcd", {"epochs": 30}, "paper"),
    ),
    "hard": (
        Variant("LegoGCD"),
        Variant("k-means", "kmeans"),
        Variant("semi-supervised k-means", "sskmeans"),
        Variant("SimGCD", "simgcd"),
        Variant("legogcd+, quick", "legogcd+", effort="quick"),
        Variant("legogcd+", "legogcd+"),
        Variant("legogcd+, labels weigh the same", "legogcd+", EVEN),
        Variant("legogcd+, not settled", "legogcd+", {"settle": False}),
        Variant("legogcd+, 30 epochs", "legogcd+", {"epochs": 30}),
        Variant("legogcd+, two blocks", "legogcd+", train_blocks=2),
        Variant("legogcd+, three blocks", "legogcd+", train_blocks=3),
        Variant("legogcd+, thorough", "legogcd+", effort="thorough"),
        Variant("legogcd+, thorough, one block", "legogcd+", train_blocks=1, effort="thorough"),
        Variant(
            "legogcd+, thorough, one block, own sizes",
            "legogcd+",
            train_blocks=1,
            effort="thorough",
            backbone="lite0+lite1@256+lite2@256",
        ),
        _three_networks("legogcd+, three networks"),
        _three_networks("legogcd+, three networks, labels weigh the same", **EVEN),
        Variant("LegoGCD, the paper's recipe", settings={"epochs": 200}, recipe="paper"),
    ),
    "depth": (
        Variant("legogcd+", "legogcd+", EVEN),
        *(
            Variant(
                f"{blocks} blocks, tail's rate × {rate}", "legogcd+", EVEN | {"tail_rate": rate}, train_blocks=blocks
            )
            for blocks in (2, 3)
            for rate in (0.1, 0.3, 1.0)
        ),
    ),
    "ingredients": _ingredients("legogcd+", "legogcd+"),
    "ingredients-not-whitened": _ingredients("legogcd", "LegoGCD"),
    "differences": (  # between LegoGCD's text and its released code, one at a time (docs/paper.md)
        _difference("LegoGCD, as the paper says"),
        Variant("LegoGCD, as released", "legogcd-released"),
        _difference("DKL as released: softmax twice, nothing detached", dkl_form="released"),
        _difference("MAP with the released sign", margin_form="released", margin_temperature=0.1),
        _difference("p̃ at temperature 1", margin_temperature=1.0),
        _difference("MAP as released: sign and p̃", margin_form="released"),
        _difference("contrastive temperatures as in the text", info_nce_temperature=0.07, sup_con_temperature=1.0),
        _difference("teacher warm-up by a cosine", teacher_warmup="cosine"),
        _difference("supervised terms without λ", supervised_scale=1 / 0.35),
        _difference("no MAP, β = 1 (released ImageNet-1k)", margin_strength=0.0, beta=1.0),
        Variant("SimGCD: neither LER nor DKL", "simgcd"),
    ),
}
