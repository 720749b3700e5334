"""SimGCD, LegoGCD and the steps between them: SimGCD's terms, and those of LegoGCD that a name spells out."""

from typing import Any, ClassVar, Literal

from legogcd.bricks import (
    DualViewKL,
    InfoNCE,
    LocalEntropy,
    MeanEntropy,
    SelfDistillation,
    SupCon,
    SupervisedCE,
)
from legogcd.methods.parametric import Parametric, Term
from legogcd.methods.published import published_settings, released_settings, simgcd_settings
from legogcd.methods.recipe import ParametricRecipe
from legogcd.methods.registry import register

Form = Literal["paper", "released"]

# Found by measurement on four sets of photos (docs/accuracy.md).
FOR_PHOTOS = {"start": "kmeans", "learning_rate": 0.05, "beta": 1.0, "threshold": 0.85, "dkl_form": "released"}


@register(
    "simgcd",
    "SimGCD (ICCV 2023): contrastive terms, supervised CE, self-distillation, mean entropy",
    ParametricRecipe,
    for_photos=FOR_PHOTOS,
    published_for=simgcd_settings(),
)
class SimGCD(Parametric):
    """SimGCD, and behind it whatever of LegoGCD's ``parts`` a method has: ``dkl``, ``ler``, ``map``.

    ``form`` is that of DKL and of the margin where the recipe does not choose one.
    """

    parts: ClassVar[frozenset[str]] = frozenset()
    form: ClassVar[Form] = "paper"

    @classmethod
    def terms(cls, recipe: ParametricRecipe) -> dict[str, Term]:
        terms = _simgcd_terms(recipe)
        unsupervised = recipe.classification_weight * (1 - recipe.supervised_weight)
        if "dkl" in cls.parts:
            terms["dkl"] = Term(unsupervised * recipe.dkl_weight, DualViewKL, _dual_view_kl(recipe, cls.form))
        if "ler" in cls.parts:
            margin = recipe.margin_form or cls.form if "map" in cls.parts else None
            terms["ler"] = Term(recipe.beta, LocalEntropy, _local_entropy(recipe, margin))
        return terms


def _simgcd_terms(recipe: ParametricRecipe) -> dict[str, Term]:
    supervised, unsupervised = recipe.supervised_weight * recipe.supervised_scale, 1 - recipe.supervised_weight
    alpha, form = recipe.classification_weight, recipe.contrast_form
    at_student = {"temperature": recipe.student_temperature}
    return {
        "info_nce": Term(unsupervised, InfoNCE, {"temperature": recipe.info_nce_temperature, "form": form}),
        "sup_con": Term(supervised, SupCon, {"temperature": recipe.sup_con_temperature, "form": form}),
        "supervised_ce": Term(alpha * supervised, SupervisedCE, at_student),
        "self_distillation": Term(alpha * unsupervised, SelfDistillation, recipe.distillation),
        "mean_entropy": Term(alpha * unsupervised * recipe.mean_entropy_weight, MeanEntropy, at_student),
    }


def _dual_view_kl(recipe: ParametricRecipe, form: Form) -> dict[str, Any]:
    return {
        "form": recipe.dkl_form or form,
        "temperature": recipe.student_temperature,
        "detach": recipe.dkl_detach,
    }


def _local_entropy(recipe: ParametricRecipe, margin: Form | None) -> dict[str, Any]:
    return {
        "margin": margin,
        "threshold": recipe.threshold,
        "temperature": recipe.ler_temperature,
        "confidence_temperature": recipe.student_temperature,
        "margin_strength": recipe.margin_strength,
        "momentum": recipe.margin_momentum,
        "mean_temperature": recipe.margin_temperature,
        "warmup_epochs": recipe.threshold_warmup_epochs,
    }


@register(
    "simgcd+dkl",
    "SimGCD and the dual-view KL constraint",
    ParametricRecipe,
    for_photos=FOR_PHOTOS,
    published_for=published_settings(),
)
class SimGCDWithDKL(SimGCD):
    """SimGCD and the dual-view KL constraint."""

    parts = frozenset({"dkl"})


@register(
    "simgcd+ler",
    "SimGCD and local entropy regularization, no margin",
    ParametricRecipe,
    for_photos=FOR_PHOTOS,
    published_for=published_settings(),
)
class SimGCDWithLER(SimGCD):
    """SimGCD and local entropy regularization, no margin."""

    parts = frozenset({"ler"})


@register(
    "simgcd+ler+map",
    "SimGCD and local entropy regularization with the margin-aware pattern",
    ParametricRecipe,
    for_photos=FOR_PHOTOS,
    published_for=published_settings(),
)
class SimGCDWithMAP(SimGCD):
    """SimGCD and local entropy regularization with the margin-aware pattern."""

    parts = frozenset({"ler", "map"})


@register(
    "legogcd",
    "LegoGCD (CVPR 2024) as its paper says: SimGCD + LER + MAP + DKL",
    ParametricRecipe,
    for_photos=FOR_PHOTOS,
    published_for=published_settings(),
    spelled_out="simgcd+ler+map+dkl",
)
class LegoGCD(SimGCD):
    """LegoGCD as its paper says."""

    parts = frozenset({"ler", "map", "dkl"})


@register(
    "legogcd-released",
    "LegoGCD as its released code computes it (double softmax, margin of the other sign)",
    ParametricRecipe,
    for_photos=FOR_PHOTOS,
    published_for=released_settings(),
)
class ReleasedLegoGCD(LegoGCD):
    """LegoGCD as its released code computes it."""

    form = "released"
