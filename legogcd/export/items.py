"""The images an export is to hold, as a format gets them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

STATUSES = ("labelled", "known", "novel")
REJECTED = "rejected"  # set aside by a person; exported only where that is asked for


@dataclass(frozen=True)
class Include:
    """Which images to export: those of the statuses ``only``, and of the guessed ones those the model is sure of."""

    only: Collection[str] = STATUSES
    min_confidence: float = 0.0


@dataclass(frozen=True)
class Item:
    """One image. ``settled``: a person gave or confirmed its category; else ``confidence`` says how sure it is."""

    name: str
    file: Path
    category: str
    status: str
    confidence: float
    predicted: str
    settled: bool


@dataclass(frozen=True)
class Selection:
    """What to export, and what of the run a format may need beside it.

    ``names`` are all categories of the run in alphabetical order, those that no exported image is in too. ``missing``
    are images whose files are gone or hold no image, ``refused`` those that may not be read, with the reason.
    """

    items: tuple[Item, ...]
    root: Path | None
    names: tuple[str, ...]
    model: str
    missing: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    not_asked_for: int = 0
    set_aside: int = 0  # images left out because a person set them aside

    @property
    def categories(self) -> list[str]:
        """The categories of the exported images in alphabetical order."""
        return categories_of(self.items)


def categories_of(items: Collection[Item]) -> list[str]:
    """The categories of some images in alphabetical order."""
    return sorted({item.category for item in items})
