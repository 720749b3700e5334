"""What a format is: a function that writes a selection into a new folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from legogcd.export.placing import Link
from legogcd.export.records import Selection


@dataclass(frozen=True)
class Settings:
    """Choices that some formats ask for; ``progress`` is told how many images of how many are done."""

    link: Link
    url_prefix: str | None
    val_share: float
    seed: int
    progress: Callable[[int, int], None]


@dataclass(frozen=True)
class Written:
    """What a person should know of an export, and the images that turned out to be unreadable while it was made."""

    notes: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """How a format is written.

    ``single_file`` names the only file of a format that has one: an --out with its ending is then that file itself.
    """

    write: Callable[[Selection, Path, Settings], Written]
    description: str
    places_images: bool = False
    needs_images: bool = True
    single_file: str | None = None
