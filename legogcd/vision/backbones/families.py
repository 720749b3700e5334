"""Families of backbones. A family is a file of this folder that registers what is known of it, and nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from legogcd.errors import UserError
from legogcd.vision.backbones.backbone import Backbone


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

    ``photo_defaults`` are settings of a recipe that suit the family where people bring photos; a family that
    ``takes_the_rest`` is asked after all others.
    """

    name: str
    recognizes: Callable[[str], bool]
    load: Callable[[str, int, int], Backbone]
    known: tuple[KnownBackbone, ...]
    photo_defaults: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    takes_the_rest: bool = False

    @property
    def photo_epochs(self) -> int:
        return int(self.photo_defaults["epochs"])


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


def family_defaults(family: str) -> dict[str, Any]:
    """A family's settings for people with photos, by the family's name.

    >>> family_defaults("efficientnet")
    {'epochs': 15}
    """
    if family not in FAMILIES:
        raise UserError(f"unknown family of backbones {family!r}; there are: {', '.join(sorted(FAMILIES))}")
    return dict(FAMILIES[family].photo_defaults)
