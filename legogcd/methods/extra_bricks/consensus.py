"""consensus: both views learn what they say together."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from legogcd.methods.plug_in import plug_in

_Positive = Annotated[float, Field(gt=0)]


class ConsensusSettings(BaseModel):
    """What may be set; what is None is as the recipe has it for self-distillation."""

    student_temperature: float | None = Field(None, gt=0)
    teacher_temperatures: tuple[_Positive, _Positive] | None = None
    warmup_epochs: int | None = Field(None, ge=0)
    warmup: Literal["linear", "cosine"] | None = None
    disagreement_weight: float = Field(0.5, ge=0, le=1)


plug_in(
    "consensus",
    "both views distilled from their average",
    "legogcd.bricks:ConsensusDistillation",
    ConsensusSettings,
    replaces="SelfDistillation",
)
