"""UNO+: several heads that learn balanced pseudo-labels from each other's views."""

from typing import Literal

from pydantic import Field

from legogcd.methods.recipe import Recipe
from legogcd.methods.registry import register


class UNORecipe(Recipe):
    """UNO+ as published for generalized category discovery.

    >>> UNORecipe().batch_size, UNORecipe().heads
    (256, 5)
    """

    batch_size: int = Field(256, ge=1)
    weight_decay: float = Field(1e-4, ge=0)
    final_rate: float = Field(0.01, ge=0, le=1, description="the cosine ends at this share of the learning rate")
    rate_warmup: float = Field(0.05, ge=0, lt=1, description="share of the epochs over which the rate rises first")
    rate_warmup_from: float | None = Field(
        0.01, ge=0, le=1, description="the rise begins at this share of the rate; default: one epoch's part of the rise"
    )
    decayed: Literal["matrices", "all"] = Field("all", description="all: weight decay on biases and norms too")
    start: Literal["random"] = Field("random", description="the new prototypes lie behind heads yet to be trained")

    heads: int = Field(5, ge=1, description="heads for the new classes, and as many that over-cluster")
    over_clustering: int = Field(3, ge=1, description="prototypes for each new class in an over-clustering head")
    head_hidden: int = Field(2048, ge=1, description="width of a head's hidden layer")
    head_out: int = Field(256, ge=1, description="width in which a head's prototypes lie")
    batch_norm: Literal["view", "both"] = Field("view", description="over one view at a time, or over both together")
    renormalized: bool = Field(True, description="prototypes are brought to length 1 after every step")
    temperature: float = Field(0.1, gt=0, description="τ of the predictions")
    sinkhorn_epsilon: float = Field(0.05, gt=0, description="ε of the targets")
    sinkhorn_iterations: int = Field(3, ge=1)
    threshold: float = Field(0.7, ge=0, le=1, description="confidence from which a view is counted as a known one")


register(
    "uno",
    "UNO+: several heads, balanced pseudo-labels, swapped prediction",
    UNORecipe,
    "legogcd.methods.baselines.uno:UNO",
    for_photos={"rate_warmup_from": None, "decayed": "matrices", "batch_norm": "both", "renormalized": False},
    departures=("of its augmentation only a crop and the flip are applied: no color jitter, grey or blur",),
)
