"""mean_shift: contrast of views that moved towards their neighbors."""

from pydantic import BaseModel, Field

from legogcd.methods.plug_in import plug_in


class MeanShiftSettings(BaseModel):
    """What may be set."""

    contrast_temperature: float = Field(1.0, gt=0)
    shift: float = Field(0.5, ge=0, le=1)
    neighbors: int = Field(8, ge=1)


plug_in(
    "mean_shift",
    "contrast of projections moved towards the mean of their neighbors in the collection",
    "legogcd.bricks:MeanShiftContrast",
    MeanShiftSettings,
    weight=0.5,
)
