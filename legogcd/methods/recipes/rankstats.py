"""RankStats+: one linear classifier for all classes, taught by labels, by pairs and by the other view."""

from typing import Literal

from pydantic import Field

from legogcd.methods.recipe import Recipe, Views
from legogcd.methods.registry import register

_FINE_GRAINED = ("cub", "stanford_cars", "fgvc_aircraft", "herbarium_19")


class RankStatsRecipe(Recipe):
    """The published values for coarse data sets; fine-grained ones take a learning rate of 0.001.

    >>> recipe = RankStatsRecipe()
    >>> [round(step * recipe.epochs) for step in recipe.rate_steps], recipe.consistency_ramp * recipe.epochs
    ([170], 150.0)
    """

    weight_decay: float = Field(1e-4, ge=0)
    decayed: Literal["matrices", "all"] = Field("all", description="all: weight decay on biases and norms too")
    schedule: Literal["cosine", "steps"] = "steps"
    rate_steps: tuple[float, ...] = Field(
        (170 / 200,), description="shares of the epochs after which the rate falls tenfold"
    )
    supervised_views: Views = Field("first", description="which of an image's two views the cross entropy is over")
    top: int = Field(5, ge=1, description="how many of the largest feature dimensions make a pair where they agree")
    consistency_weight: float = Field(50.0, ge=0, description="weight of the views' consistency after its ramp")
    consistency_ramp: float = Field(0.75, ge=0, le=1, description="share of the epochs over which that weight rises")
    threshold: float = Field(0.7, ge=0, le=1, description="δ: confidence from which a view is counted as a known one")


register(
    "rankstats",
    "RankStats+: pairs by their strongest feature dimensions",
    RankStatsRecipe,
    "legogcd.methods.baselines.rankstats:RankStats",
    for_photos={
        "start": "kmeans",
        "learning_rate": 0.001,
        "rate_steps": (85 / 200, 170 / 200),
        "supervised_views": "both",
        "decayed": "matrices",
    },
    published_for={
        **{name: {"learning_rate": 0.001} for name in _FINE_GRAINED},
        "cifar10": {"consistency_weight": 5.0, "consistency_ramp": 0.25},
    },
)
