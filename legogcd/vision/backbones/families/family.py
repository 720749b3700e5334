"""Families of backbones, and what is known of them without torch: names, what a listing says, what suits them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from legogcd.errors import UserError
from legogcd.late_objects import late

if TYPE_CHECKING:
    from legogcd.vision.backbones.backbone import Backbone

Load = Callable[[str, int, int], "Backbone"]


def _nothing_to_check(name: str, image_size: int) -> None:
    """For families that find out when they load."""


@dataclass(frozen=True)
class KnownBackbone:
    """One line of a listing; ``offline`` says whether it works without ever having been online."""

    name: str
    family: str
    dim: int
    description: str
    offline: bool = False


@dataclass(frozen=True)
class Family:
    """A family: which names are its own, how one is loaded (name, image size, trained blocks), what a listing says.

    ``load`` is a function, or ``module:name`` to import it when it is needed. ``check`` refuses a name and an image
    size that cannot work, as far as that is seen without loading anything. ``photo_defaults`` are settings of a recipe
    that suit the family where people bring photos, ``deeper_defaults`` more of them where more than the last block
    learns; a family that ``takes_the_rest`` is asked after all others.
    """

    name: str
    recognizes: Callable[[str], bool]
    load: Load | str
    known: tuple[KnownBackbone, ...]
    check: Callable[[str, int], None] = _nothing_to_check
    photo_defaults: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    deeper_defaults: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    takes_the_rest: bool = False

    @property
    def photo_epochs(self) -> int:
        return int(self.photo_defaults["epochs"])

    def loaded(self, name: str, image_size: int, train_blocks: int) -> "Backbone":
        """A backbone of the family."""
        self.check(name, image_size)
        backbone: Backbone = late(self.load)(name, image_size, train_blocks)
        return backbone


FAMILIES: dict[str, Family] = {}


def register(family: Family) -> Family:
    """Make a family known by its name."""
    FAMILIES[family.name] = family
    return family


def in_turn() -> list[Family]:
    """The families in the order in which they are asked for a name, and listed."""
    return sorted(FAMILIES.values(), key=lambda family: (family.takes_the_rest, family.name))


def family_for(name: str) -> Family:
    """The family that loads a backbone of this name or path."""
    for family in in_turn():
        if family.recognizes(name):
            return family
    raise UserError(f"no family of backbones knows {name!r}; there are: {', '.join(sorted(FAMILIES))}")


def family_defaults(family: str, train_blocks: int = 1) -> dict[str, Any]:
    """A family's settings for people with photos, by the family's name and how many of its last blocks learn.

    >>> family_defaults("efficientnet"), family_defaults("efficientnet", train_blocks=2)
    ({'epochs': 15}, {'epochs': 15, 'tail_rate': 0.3})
    """
    if family not in FAMILIES:
        raise UserError(f"unknown family of backbones {family!r}; there are: {', '.join(sorted(FAMILIES))}")
    found = FAMILIES[family]
    return {**found.photo_defaults, **(found.deeper_defaults if train_blocks > 1 else {})}


def check_image_size(name: str, image_size: int, patch: int) -> None:
    """Refuse an image size that does not consist of whole patches."""
    if image_size < patch or image_size % patch:
        near = max(1, round(image_size / patch)) * patch
        raise UserError(f"image size {image_size}: {name} takes multiples of {patch}, such as {near}")
