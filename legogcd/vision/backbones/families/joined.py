"""Several EfficientNets side by side, joined by name: ``lite0+lite1``, or ``lite0+lite1@256`` for a size of its own."""

from typing import NamedTuple

from legogcd.errors import UserError
from legogcd.vision.backbones.families.efficientnet import DEEPER_DEFAULTS, DIM, NAMES, PHOTO_DEFAULTS, STRIDE
from legogcd.vision.backbones.families.family import (
    Family,
    KnownBackbone,
    check_image_size,
    register,
)

PREFIX = "efficientnet-"


class Part(NamedTuple):
    """A network of several, and what its name says of the size at which it sees the views: nothing, as all do."""

    name: str
    size: str | None

    def side(self, image_size: int) -> int:
        """How many pixels wide the views are that this network sees, where all others see ``image_size``.

        >>> Part("efficientnet-lite1", "256").side(224), Part("efficientnet-lite0", None).side(224)
        (256, 224)
        """
        return image_size if self.size is None else int(self.size)


def parts_of(name: str) -> list[Part]:
    """The networks that a joined name names, in full; none where it names something else.

    >>> [part.name for part in parts_of("lite0+lite1@256")], parts_of("efficientnet-lite0"), parts_of("lite0+other")
    (['efficientnet-lite0', 'efficientnet-lite1'], [], [])
    """
    parts = [_part(said.strip()) for said in name.split("+")]
    return parts if len(parts) > 1 and all(part.name in NAMES for part in parts) else []


def _part(said: str) -> Part:
    name, at, size = said.partition("@")
    return Part(PREFIX + name.strip().removeprefix(PREFIX), size.strip() if at else None)


def check_joined(name: str, image_size: int) -> None:
    """Refuse a network beside itself, and sizes none of them takes."""
    parts = parts_of(name)
    if len({part.name for part in parts}) < len(parts):
        raise UserError(f"backbone {name!r} names a network twice")
    for part in parts:
        if part.size is not None and not (part.size.isascii() and part.size.isdigit()):
            raise UserError(f"backbone {name!r}: {part.size!r} is no number of pixels; write lite1@256")
        check_image_size(name, part.side(image_size), STRIDE)


register(
    Family(
        "joined",
        recognizes=lambda name: bool(parts_of(name)),
        load="legogcd.vision.backbones.joined:load_joined",
        check=check_joined,
        known=(
            KnownBackbone("lite0+lite1", "joined", 2 * DIM, "two EfficientNets side by side", True),
            KnownBackbone("lite0+lite1@256", "joined", 2 * DIM, "… the second at 256 pixels", True),
        ),
        photo_defaults=PHOTO_DEFAULTS,
        deeper_defaults=DEEPER_DEFAULTS,
    )
)
