"""SimGCD, LegoGCD and the steps between them: one list of weighted bricks, by name.

``simgcd`` and any of ``+dkl``, ``+ler``, ``+map`` behind it; ``legogcd`` is all of them, ``legogcd-released`` is all of
them in the forms of its released code. Behind any of these, what ``plug_ins`` has.
"""

from collections.abc import Sequence
from typing import Literal

from legogcd.bricks import (
    Brick,
    DualViewKL,
    InfoNCE,
    LocalEntropy,
    MeanEntropy,
    SelfDistillation,
    SupCon,
    SupervisedCE,
)
from legogcd.methods.parametric import Parametric
from legogcd.methods.plug_ins import PLUG_INS
from legogcd.methods.recipe import ParametricRecipe

LEGOGCD = "simgcd+ler+map+dkl"
Form = Literal["paper", "released"]


def build_simgcd(
    name: str, plug_ins: Sequence[str], dim: int, n_classes: int, n_known: int, recipe: ParametricRecipe
) -> Parametric:
    """SimGCD with the terms a name spells out, and plug-ins by their names."""
    parts = set((LEGOGCD if name in ("legogcd", "legogcd-released") else name).split("+"))
    form: Form = "released" if name == "legogcd-released" else "paper"
    bricks = _simgcd(recipe)
    if "dkl" in parts:
        dkl = DualViewKL(recipe.dkl_form or form, recipe.student_temperature, recipe.dkl_detach)
        bricks["dkl"] = ((1 - recipe.supervised_weight) * recipe.dkl_weight, dkl)
    if "ler" in parts:
        bricks["ler"] = (recipe.beta, _local_entropy(recipe, recipe.margin_form or form if "map" in parts else None))
    for plug_in in plug_ins:
        PLUG_INS[plug_in].plug(bricks, recipe)
    return Parametric(dim, n_classes, n_known, bricks, recipe)


def _simgcd(recipe: ParametricRecipe) -> dict[str, tuple[float, Brick]]:
    supervised, unsupervised = recipe.supervised_weight * recipe.supervised_scale, 1 - recipe.supervised_weight
    return {
        "info_nce": (unsupervised, InfoNCE(recipe.info_nce_temperature)),
        "sup_con": (supervised, SupCon(recipe.sup_con_temperature)),
        "supervised_ce": (supervised, SupervisedCE(recipe.student_temperature)),
        "self_distillation": (unsupervised, SelfDistillation(**recipe.distillation)),
        "mean_entropy": (unsupervised * recipe.mean_entropy_weight, MeanEntropy(recipe.student_temperature)),
    }


def _local_entropy(recipe: ParametricRecipe, margin: Form | None) -> LocalEntropy:
    return LocalEntropy(
        threshold=recipe.threshold,
        temperature=recipe.ler_temperature,
        margin=margin,
        confidence_temperature=recipe.student_temperature,
        margin_strength=recipe.margin_strength,
        momentum=recipe.margin_momentum,
        mean_temperature=recipe.margin_temperature,
        warmup_epochs=recipe.threshold_warmup_epochs,
    )
