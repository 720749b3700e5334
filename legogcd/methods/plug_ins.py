"""Bricks beyond the paper's, by the names that add them: ``legogcd+prior+adaptive``. A new idea is one line here."""

from collections.abc import Callable
from dataclasses import dataclass

from legogcd.bricks import (
    AdaptiveThreshold,
    Brick,
    ConsensusDistillation,
    DebiasedDistillation,
    KnownAnchor,
    LocalEntropy,
    MomentumDistillation,
    NeighborConsistency,
    PriorAlignment,
    PrototypeSeparation,
)
from legogcd.errors import UserError
from legogcd.methods.recipe import ParametricRecipe

Bricks = dict[str, tuple[float, Brick]]  # a term's weight and brick by its name


@dataclass(frozen=True)
class PlugIn:
    """What a name adds to a method's bricks or puts in the place of one."""

    description: str
    plug: Callable[[Bricks, ParametricRecipe], None]


def _instead(term: str, build: Callable[[ParametricRecipe], Brick]) -> Callable[[Bricks, ParametricRecipe], None]:
    """Another brick for a term, at the weight it had."""

    def plug(bricks: Bricks, recipe: ParametricRecipe) -> None:
        bricks[term] = (bricks[term][0], build(recipe))

    return plug


def _adaptive(bricks: Bricks, recipe: ParametricRecipe) -> None:
    if "ler" not in bricks:
        raise UserError("+adaptive sets LER's threshold; it goes with legogcd or simgcd+ler")
    ler = bricks["ler"][1]
    assert isinstance(ler, LocalEntropy)
    ler.threshold = AdaptiveThreshold(recipe.threshold_floor)


def _separate(bricks: Bricks, recipe: ParametricRecipe) -> None:
    bricks["separation"] = (recipe.separation_weight, PrototypeSeparation(recipe.student_temperature))


def _neighbors(bricks: Bricks, recipe: ParametricRecipe) -> None:
    bricks["neighbors"] = (recipe.neighbor_weight, NeighborConsistency(temperature=recipe.student_temperature))


def _anchor(bricks: Bricks, recipe: ParametricRecipe) -> None:
    bricks["anchor"] = (recipe.anchor_weight, KnownAnchor(recipe.student_temperature))


PLUG_INS: dict[str, PlugIn] = {
    "prior": PlugIn(
        "mean entropy towards an estimated prior instead of the uniform one",
        _instead(
            "mean_entropy",
            lambda recipe: PriorAlignment(recipe.student_temperature, uniform_share=recipe.uniform_share),
        ),
    ),
    "consensus": PlugIn(
        "both views distilled from their average",
        _instead("self_distillation", lambda recipe: ConsensusDistillation(**recipe.distillation)),
    ),
    "debias": PlugIn(
        "distillation targets corrected for the pull of the known classes",
        _instead(
            "self_distillation",
            lambda recipe: DebiasedDistillation(**recipe.distillation, strength=recipe.debias_strength),
        ),
    ),
    "momentum": PlugIn(
        "distillation from slowly moving prototypes",
        _instead(
            "self_distillation",
            lambda recipe: MomentumDistillation(**recipe.distillation, momentum=recipe.teacher_momentum),
        ),
    ),
    "adaptive": PlugIn("LER's threshold follows the model's confidence", _adaptive),
    "separate": PlugIn("prototypes kept apart", _separate),
    "neighbors": PlugIn("predictions like those of the nearest images of the batch", _neighbors),
    "anchor": PlugIn("known classes held to their own mean prediction", _anchor),
}


def plug_in_names(parts: list[str]) -> list[str]:
    """The parts of a name that add bricks, in the order of the list; an unknown one is the user's mistake."""
    unknown = [part for part in parts if part not in PLUG_INS]
    if unknown:
        raise UserError(f"unknown method part {unknown[0]!r}; there are: {', '.join(PLUG_INS)}")
    replacing = [f"+{name}" for name in ("consensus", "debias", "momentum") if name in parts]
    if len(replacing) > 1:
        raise UserError(f"{' and '.join(replacing)} replace the self-distillation; name one of them")
    return [name for name in PLUG_INS if name in parts]
