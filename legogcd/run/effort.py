"""How much work a run may be, in one word: what each effort brings, wherever an option does not say otherwise."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

EffortName = Literal["quick", "normal", "thorough"]
EffortChoice = Literal[EffortName, "auto"]
AUTO_EFFORT = "auto"  # until `effort_choice` has looked at the collection: as normal
BUILT_IN = "efficientnet-lite0"
HARD = 0.75  # of the labels that can be checked so few are found again where categories are hard to tell apart


class Effort(NamedTuple):
    """A backbone, how many of its last blocks learn, a number of kept views, and settings for the recipes that have
    them."""

    backbone: str = BUILT_IN
    train_blocks: int = 1
    views: int = 4
    settings: Mapping[str, Any] = MappingProxyType({})


EFFORTS: dict[EffortName, Effort] = {
    "quick": Effort(views=2, settings={"epochs": 5}),
    "normal": Effort(),
    "thorough": Effort("lite0+lite1+lite2", 2, settings={"settled_per_class": 6, "settle_on": "agreement"}),
}


def effort_named(name: EffortChoice) -> Effort:
    return EFFORTS["normal" if name == "auto" else name]
