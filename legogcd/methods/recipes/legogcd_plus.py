"""legogcd+: LegoGCD among whitened features, views distilled from their average, and an estimated class prior."""

from dataclasses import replace
from typing import Literal

from pydantic import Field

from legogcd.methods.plug_in import PLUG_INS
from legogcd.methods.published import published_settings
from legogcd.methods.recipe import ParametricRecipe
from legogcd.methods.recipes.simgcd import FOR_PHOTOS, legogcd_terms
from legogcd.methods.registry import register
from legogcd.methods.terms import Term


class LegoGCDPlusRecipe(ParametricRecipe):
    """LegoGCD's settings, and how wide the whitening and how even the prior is.

    >>> LegoGCDPlusRecipe(start="kmeans").whitened_width(n_classes=100)
    300
    >>> wider = LegoGCDPlusRecipe(start="kmeans", settled_per_class=6)
    >>> wider.whitened_width(100), wider.used_width(n_images=3000, n_classes=100), wider.used_width(30000, 100)
    (600, 600, 300)
    """

    whitened_dim: int | None = Field(
        None,
        ge=0,
        description="prototypes see so many whitened dimensions, with the k-means start only; 0: all, not whitened; "
        "None: as many as whitened_per_class says",
    )
    whitened_per_class: int = Field(3, ge=1, description="so many whitened dimensions for each class, at least 64")
    settled_per_class: int | None = Field(
        None,
        ge=1,
        description="so many where the prototypes settle, as joined networks tell more apart; None: as elsewhere",
    )
    sizes: Literal["prior", "equal", "free"] = Field(
        "prior",
        description="what is expected of the classes' sizes; prior: what labels and images say; equal: all alike; "
        "free: nothing",
    )
    new_from: Literal["groups", "density"] = Field(
        "groups",
        description="where new prototypes start; groups: at those of semi-supervised k-means; density: where images "
        "least like any known class lie densest (HDBSCAN)",
    )
    uniform_share: float = Field(0.5, ge=0, le=1, description="how much of the prior is uniform, where there is one")
    supervised_rise: float = Field(
        0.35,
        ge=0,
        le=1,
        description="supervised cross-entropy weighs more from epoch to epoch: from 1 - this to 1 + this, times λ",
    )
    settle: bool | None = Field(
        None,
        description="look for the classes once more among the trained features, averaged over all kept views; "
        "None: where there are more classes than images of one class",
    )
    settle_on: Literal["inertia", "agreement"] = Field(
        "inertia",
        description="which classes to settle on; inertia: those with the lowest of several searches; agreement: what "
        "the searches agree on, found once more",
    )

    def whitened_width(self, n_classes: int) -> int:
        """How many whitened dimensions there are at most, 0 where none: they are found with the prototypes' start."""
        return max(self._width(per_class, n_classes) for per_class in (self.whitened_per_class, self._if_settled))

    def used_width(self, n_images: int, n_classes: int) -> int:
        """How many of them tell something: those beyond are 0, where more are for prototypes that settle alone."""
        settles = self.settles(n_images, n_classes)
        return self._width(self._if_settled if settles else self.whitened_per_class, n_classes)

    @property
    def _if_settled(self) -> int:
        return self.whitened_per_class if self.settled_per_class is None else self.settled_per_class

    def _width(self, per_class: int, n_classes: int) -> int:
        if self.start == "random":
            return 0
        return max(64, per_class * n_classes) if self.whitened_dim is None else self.whitened_dim

    def settles(self, n_images: int, n_classes: int) -> bool:
        """Whether the prototypes settle: by itself where classes are many and small, N/K < K, and never unwhitened.

        >>> recipe = LegoGCDPlusRecipe(start="kmeans")
        >>> recipe.settles(n_images=3055, n_classes=102), recipe.settles(n_images=1480, n_classes=37)
        (True, False)
        """
        wanted = n_images < n_classes**2 if self.settle is None else self.settle
        return wanted and self.whitened_width(n_classes) > 0


def legogcd_plus_terms(recipe: ParametricRecipe) -> dict[str, Term]:
    """LegoGCD's terms with the bricks ``consensus`` and ``prior`` in it, or without a prior where sizes are free.

    Supervised cross-entropy weighs more from epoch to epoch.
    """
    assert isinstance(recipe, LegoGCDPlusRecipe)
    terms = legogcd_terms(recipe)
    distillation, entropy = terms["self_distillation"], terms["mean_entropy"]
    terms["supervised_ce"] = replace(terms["supervised_ce"], rise=recipe.supervised_rise)
    terms["self_distillation"] = distillation.exchanged(PLUG_INS["consensus"])
    if recipe.sizes == "free":
        del terms["mean_entropy"]
    else:
        uniform_share = 1.0 if recipe.sizes == "equal" else recipe.uniform_share
        terms["mean_entropy"] = entropy.exchanged(PLUG_INS["prior"], uniform_share=uniform_share)
    return terms


register(
    "legogcd+",
    "ours: LegoGCD behind whitened features, views distilled from their average, an estimated class prior",
    LegoGCDPlusRecipe,
    "legogcd.methods.legogcd_plus:LegoGCDPlus",
    terms=legogcd_plus_terms,
    for_photos=FOR_PHOTOS | {"dkl_form": "paper"},
    published_for=published_settings(),
)
