"""classwise: what a class's images are taken for is that class, in both views."""

from pydantic import BaseModel, Field

from legogcd.methods.plug_in import plug_in


class ClasswiseSettings(BaseModel):
    """What may be set; a temperature that is None is the recipe's."""

    temperature: float | None = Field(None, gt=0)


plug_in(
    "classwise",
    "each class's mean prediction held to the class, alike in both views",
    "legogcd.bricks:ClassDistributions",
    ClasswiseSettings,
    weight=0.5,
)
