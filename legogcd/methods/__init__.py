"""Recipes made of bricks. A method's name says what is in it.

>>> sorted(METHODS)[:2]
['legogcd', 'legogcd-released']
>>> method = build_method("simgcd+ler", dim=8, n_classes=6, n_known=3)
>>> sorted(method.bricks)
['info_nce', 'ler', 'mean_entropy', 'self_distillation', 'sup_con', 'supervised_ce']
"""

from typing import Literal

from legogcd.blocks import (
    Brick,
    DualViewKL,
    InfoNCE,
    LocalEntropy,
    MeanEntropy,
    SelfDistillation,
    SupCon,
    SupervisedCE,
)
from legogcd.errors import UserError
from legogcd.methods.base import Method, Step
from legogcd.methods.parametric import CONFIDENT, Parametric
from legogcd.methods.recipe import Recipe, default_recipe

METHODS = {
    "simgcd": "SimGCD (ICCV 2023): contrastive terms, supervised CE, self-distillation, mean entropy",
    "simgcd+dkl": "SimGCD and the dual-view KL constraint",
    "simgcd+ler": "SimGCD and local entropy regularisation, no margin",
    "simgcd+ler+map": "SimGCD and local entropy regularisation with the margin-aware pattern",
    "legogcd": "LegoGCD (CVPR 2024) as its paper says: SimGCD + LER + MAP + DKL",
    "legogcd-released": "LegoGCD as its released code computes it (double softmax in DKL, margin of the other sign)",
}
_SPELLED_OUT = {"legogcd": "simgcd+ler+map+dkl"}

__all__ = ["CONFIDENT", "METHODS", "Method", "Recipe", "Step", "build_method", "check_method", "default_recipe"]


def check_method(name: str) -> str:
    """The name itself, or its short form where the parts are spelled out; unknown names are the user's mistake."""
    for short, long in _SPELLED_OUT.items():
        if name.split("+")[0] == "simgcd" and set(name.split("+")) == set(long.split("+")):
            return short
    if name not in METHODS:
        raise UserError(f"unknown method {name!r}; there are: {', '.join(METHODS)}")
    return name


def build_method(name: str, dim: int, n_classes: int, n_known: int, recipe: Recipe | None = None) -> Method:
    """A method by name for features of ``dim``, with the paper's recipe unless another is given."""
    recipe = recipe or Recipe()
    name = check_method(name)
    bricks = _simgcd(recipe)
    parts = set(_SPELLED_OUT.get(name, name).split("+"))
    form: Literal["paper", "released"] = "paper"
    if name == "legogcd-released":
        parts, form = {"ler", "map", "dkl"}, "released"
    unsupervised = 1 - recipe.supervised_weight
    if "dkl" in parts:
        dkl = DualViewKL(form=form, temperature=recipe.student_temperature)
        bricks["dkl"] = (unsupervised * recipe.dkl_weight, dkl)
    if "ler" in parts:
        bricks["ler"] = (recipe.beta, _local_entropy(recipe, form if "map" in parts else None))
    return Parametric(dim, n_classes, n_known, bricks, recipe)


def _simgcd(recipe: Recipe) -> dict[str, tuple[float, Brick]]:
    supervised, unsupervised = recipe.supervised_weight, 1 - recipe.supervised_weight
    distillation = SelfDistillation(
        student_temperature=recipe.student_temperature,
        teacher_temperatures=(recipe.teacher_temperature_start, recipe.teacher_temperature_end),
        warmup_epochs=recipe.warmup_epochs,
        warmup=recipe.teacher_warmup,
    )
    return {
        "info_nce": (unsupervised, InfoNCE(recipe.info_nce_temperature)),
        "sup_con": (supervised, SupCon(recipe.sup_con_temperature)),
        "supervised_ce": (supervised, SupervisedCE(recipe.student_temperature)),
        "self_distillation": (unsupervised, distillation),
        "mean_entropy": (unsupervised * recipe.mean_entropy_weight, MeanEntropy(recipe.student_temperature)),
    }


def _local_entropy(recipe: Recipe, margin: Literal["paper", "released"] | None) -> LocalEntropy:
    return LocalEntropy(
        threshold=recipe.threshold,
        temperature=recipe.ler_temperature,
        margin=margin,
        confidence_temperature=recipe.student_temperature,
        margin_strength=recipe.margin_strength,
        momentum=recipe.margin_momentum,
    )
