"""GCD: contrastive learning of features, then semi-supervised k-means on them."""

from typing import Literal

from pydantic import Field

from legogcd.methods.recipe import Recipe
from legogcd.methods.registry import register


class GCDRecipe(Recipe):
    """GCD as published.

    >>> GCDRecipe().projector_out
    65536
    """

    start: Literal["random"] = Field("random", description="there are no prototypes to start")
    decayed: Literal["matrices", "all"] = Field("all", description="all: weight decay on biases and norms too")

    supervised_weight: float = Field(0.35, ge=0, le=1, description="λ: SupCon weighs λ, InfoNCE 1-λ")
    info_nce_temperature: float = Field(1.0, gt=0)
    sup_con_temperature: float = Field(0.07, gt=0)
    projector_hidden: int = Field(2048, ge=1, description="width of the projector's two hidden layers")
    bottleneck: int = Field(256, ge=1, description="width in front of the projector's last layer")
    projector_out: int = Field(65_536, ge=1)
    seeding: Literal["greedy", "plain"] = Field(
        "plain", description="k-means++ draws: plain ones, or greedy ones of several, weighted"
    )
    n_init: int | None = Field(100, ge=1, description="starts, the best of which counts; None: by collection size")


register(
    "gcd",
    "GCD (CVPR 2022): contrastive terms, then semi-supervised k-means",
    GCDRecipe,
    "legogcd.methods.baselines.gcd:GCD",
    for_photos={"learning_rate": 0.02, "decayed": "matrices", "seeding": "greedy", "n_init": None},
    departures=("the last epoch's model is used, not the one that was best on test data",),
)
