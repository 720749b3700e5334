"""Several EfficientNets side by side, joined by name as in ``lite0+lite1``."""

from legogcd.errors import UserError
from legogcd.vision.backbones.families.efficientnet import DEEPER_DEFAULTS, DIM, NAMES, PHOTO_DEFAULTS, STRIDE
from legogcd.vision.backbones.families.family import (
    Family,
    KnownBackbone,
    check_image_size,
    register,
)

PREFIX = "efficientnet-"


def parts_of(name: str) -> list[str]:
    """The networks that a joined name names, in full; none where it names something else.

    >>> parts_of("lite0+lite1"), parts_of("efficientnet-lite0"), parts_of("lite0+other/model")
    (['efficientnet-lite0', 'efficientnet-lite1'], [], [])
    """
    parts = [PREFIX + part.strip().removeprefix(PREFIX) for part in name.split("+")]
    return parts if len(parts) > 1 and all(part in NAMES for part in parts) else []


def check_joined(name: str, image_size: int) -> None:
    """Refuse a network beside itself, and sizes none of them takes."""
    names = parts_of(name)
    if len(set(names)) < len(names):
        raise UserError(f"backbone {name!r} names a network twice")
    check_image_size(name, image_size, STRIDE)


register(
    Family(
        "joined",
        recognizes=lambda name: bool(parts_of(name)),
        load="legogcd.vision.backbones.joined:load_joined",
        check=check_joined,
        known=(KnownBackbone("lite0+lite1", "joined", 2 * DIM, "two EfficientNets side by side", True),),
        photo_defaults=PHOTO_DEFAULTS,
        deeper_defaults=DEEPER_DEFAULTS,
    )
)
