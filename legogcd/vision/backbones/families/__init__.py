"""What is known of each family of backbones without torch: one file per family, found by itself."""

from importlib import import_module
from pkgutil import iter_modules

from legogcd.vision.backbones.families.family import (
    FAMILIES,
    Family,
    KnownBackbone,
    family_defaults,
    family_for,
    in_turn,
    register,
)

__all__ = ["FAMILIES", "Family", "KnownBackbone", "family_defaults", "family_for", "in_turn", "register"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
