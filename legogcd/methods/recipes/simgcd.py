"""SimGCD, LegoGCD and the steps between them: SimGCD's terms, and those of LegoGCD that a name spells out."""

from collections.abc import Mapping
from typing import Any, Literal

from legogcd.methods.published import published_settings, released_settings, simgcd_settings
from legogcd.methods.recipe import ParametricRecipe
from legogcd.methods.registry import register
from legogcd.methods.terms import Term, Terms

Form = Literal["paper", "released"]

# Found by measurement on four sets of photos (docs/accuracy.md).
FOR_PHOTOS = {"start": "kmeans", "learning_rate": 0.05, "beta": 1.0, "threshold": 0.85, "dkl_form": "released"}


def terms_with(*parts: Literal["dkl", "ler", "map"], form: Form = "paper") -> Terms:
    """SimGCD's terms, and behind them some of LegoGCD's ``parts``; PAPER section 2's table, row by row.

    ``form`` is that of DKL and of the margin where the recipe does not choose one.

    >>> [*terms_with("dkl")(ParametricRecipe())][-2:]
    ['mean_entropy', 'dkl']
    """

    def terms_of(recipe: ParametricRecipe) -> dict[str, Term]:
        terms = simgcd_terms(recipe)
        unsupervised = recipe.classification_weight * (1 - recipe.supervised_weight)
        if "dkl" in parts:
            terms["dkl"] = Term(unsupervised * recipe.dkl_weight, "DualViewKL", _dual_view_kl(recipe, form))
        if "ler" in parts:
            margin = recipe.margin_form or form if "map" in parts else None
            terms["ler"] = Term(recipe.beta, "LocalEntropy", _local_entropy(recipe, margin))
        return terms

    return terms_of


def simgcd_terms(recipe: ParametricRecipe) -> dict[str, Term]:
    """The terms of SimGCD."""
    supervised, unsupervised = recipe.supervised_weight * recipe.supervised_scale, 1 - recipe.supervised_weight
    alpha, form = recipe.classification_weight, recipe.contrast_form
    at_student = {"temperature": recipe.student_temperature}
    return {
        "info_nce": Term(unsupervised, "InfoNCE", {"temperature": recipe.info_nce_temperature, "form": form}),
        "sup_con": Term(supervised, "SupCon", {"temperature": recipe.sup_con_temperature, "form": form}),
        "supervised_ce": Term(alpha * supervised, "SupervisedCE", at_student),
        "self_distillation": Term(alpha * unsupervised, "SelfDistillation", recipe.distillation),
        "mean_entropy": Term(alpha * unsupervised * recipe.mean_entropy_weight, "MeanEntropy", at_student),
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


legogcd_terms = terms_with("ler", "map", "dkl")


def _register(
    name: str, description: str, terms: Terms, published: Mapping[str, Mapping[str, Any]], spelled_out: str = ""
) -> None:
    register(
        name,
        description,
        ParametricRecipe,
        "legogcd.methods.parametric:Parametric",
        terms=terms,
        for_photos=FOR_PHOTOS,
        published_for=published,
        spelled_out=spelled_out or None,
    )


_register(
    "simgcd",
    "SimGCD (ICCV 2023): contrastive terms, supervised CE, self-distillation, mean entropy",
    simgcd_terms,
    simgcd_settings(),
)
_register("simgcd+dkl", "SimGCD and the dual-view KL constraint", terms_with("dkl"), published_settings())
_register("simgcd+ler", "SimGCD and local entropy regularization, no margin", terms_with("ler"), published_settings())
_register(
    "simgcd+ler+map",
    "SimGCD and local entropy regularization with the margin-aware pattern",
    terms_with("ler", "map"),
    published_settings(),
)
_register(
    "legogcd",
    "LegoGCD (CVPR 2024) as its paper says: SimGCD + LER + MAP + DKL",
    legogcd_terms,
    published_settings(),
    spelled_out="simgcd+ler+map+dkl",
)
_register(
    "legogcd-released",
    "LegoGCD as its released code computes it (double softmax, margin of the other sign)",
    terms_with("ler", "map", "dkl", form="released"),
    released_settings(),
)
