"""known_head: a second classifier, of the known classes alone, teaches the first."""

from pydantic import BaseModel, Field

from legogcd.methods.plug_in import plug_in


class KnownHeadSettings(BaseModel):
    """What may be set; a temperature that is None is the recipe's."""

    temperature: float | None = Field(None, gt=0)


plug_in(
    "known_head",
    "a second classifier, of the known classes alone, teaches the first to tell them apart",
    "legogcd.bricks:KnownHead",
    KnownHeadSettings,
    weight=0.5,
)
