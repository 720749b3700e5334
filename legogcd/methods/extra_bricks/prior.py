"""prior: the classes' estimated shares take the place of equal ones."""

from pydantic import BaseModel, Field

from legogcd.methods.plug_in import plug_in


class PriorSettings(BaseModel):
    """What may be set; a temperature that is None is the recipe's."""

    temperature: float | None = Field(None, gt=0)
    prior_temperature: float = Field(0.05, gt=0)
    uniform_share: float = Field(0.5, ge=0, le=1)
    momentum: float = Field(0.99, ge=0, le=1)


plug_in(
    "prior",
    "mean entropy towards an estimated prior instead of the uniform one",
    "legogcd.bricks:PriorAlignment",
    PriorSettings,
    replaces="MeanEntropy",
)
