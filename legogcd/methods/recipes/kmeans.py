"""k-means and semi-supervised k-means on the untrained features: what every other method has to beat."""

from pydantic import Field, field_validator

from legogcd.methods.recipe import Recipe
from legogcd.methods.registry import register


class KMeansRecipe(Recipe):
    """k-means trains nothing: whatever number of epochs is asked for, there are none.

    >>> KMeansRecipe(epochs=30).epochs
    0
    """

    epochs: int = Field(0, ge=0, validate_default=True)
    n_init: int | None = Field(None, ge=1, description="starts, the best of which counts; default: by collection size")

    @field_validator("epochs")
    @classmethod
    def _none(cls, asked: int) -> int:
        return 0


register(
    "kmeans",
    "k-means on the untrained features; trains nothing",
    KMeansRecipe,
    "legogcd.methods.baselines.kmeans:KMeans",
)
register(
    "sskmeans",
    "semi-supervised k-means on the untrained features; trains nothing",
    KMeansRecipe,
    "legogcd.methods.baselines.kmeans:SemiSupervisedKMeans",
)
