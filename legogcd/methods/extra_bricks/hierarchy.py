"""hierarchy: contrast of groups, of groups of groups, and so on."""

from pydantic import BaseModel, Field

from legogcd.methods.plug_in import plug_in


class HierarchySettings(BaseModel):
    """What may be set."""

    contrast_temperature: float = Field(0.07, gt=0)
    levels: int = Field(3, ge=1)


plug_in(
    "hierarchy",
    "supervised contrast of the groups found before an epoch, and of groups of them",
    "legogcd.bricks:HierarchicalContrast",
    HierarchySettings,
    weight=0.5,
)
