"""ORCA: a cosine classifier that holds known classes back while the unlabelled images are still unsure."""

from typing import Literal

from pydantic import Field

from legogcd.methods.recipe import Recipe, Views
from legogcd.methods.registry import register


class ORCARecipe(Recipe):
    """ORCA's own scale, margin, weights and batches; how a ViT's last block is trained with it is ours.

    >>> ORCARecipe().rate_steps
    (0.7, 0.9)
    """

    batch_size: int = Field(512, ge=1)
    batches: Literal["balanced", "proportional"] = Field(
        "proportional", description="labelled and unlabelled images equally often, or as often as there are of them"
    )
    weight_decay: float = Field(5e-4, ge=0)
    decayed: Literal["matrices", "all"] = Field("all", description="all: weight decay on biases and norms too")
    schedule: Literal["cosine", "steps"] = "steps"
    rate_steps: tuple[float, ...] = Field(
        (0.7, 0.9), description="shares of the epochs after which the rate falls tenfold"
    )
    scale: float = Field(10.0, gt=0, description="s: what the cosines are multiplied with before a softmax")
    largest_margin: float = Field(0.5, ge=0, description="the margin follows the mean uncertainty up to this")
    mean_entropy_weight: float = Field(1.0, ge=0, description="weight of the mean-entropy regularizer")
    supervised_views: Views = Field("first", description="which of an image's two views the cross entropy is over")
    entropy_views: Views = Field("first", description="which views the mean entropy is over")
    threshold: float = Field(0.7, ge=0, le=1, description="δ: confidence from which a view is counted as a known one")


register(
    "orca",
    "ORCA (ICLR 2022): neighbor pairs, uncertainty-adaptive margin",
    ORCARecipe,
    "legogcd.methods.baselines.orca:ORCA",
    for_photos={
        "start": "kmeans",
        "learning_rate": 0.05,
        "batch_size": 128,
        "batches": "balanced",
        "weight_decay": 5e-5,
        "decayed": "matrices",
        "supervised_views": "both",
        "entropy_views": "both",
    },
    departures=("its authors give no recipe for a ViT: the learning rate and the last block alone are ours",),
)
