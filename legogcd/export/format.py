"""What a format is: a function that writes a selection into a new folder, and what it needs for that."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from legogcd.export.items import Selection
from legogcd.export.placing import Link


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
    """What a person should know of an export, and the images it had to leave out.

    ``unreadable`` turned out to be so while it was made; ``refused`` are those the format cannot hold, with the reason.
    """

    notes: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


Writer = Callable[[Selection, Path, Settings], Written]


@dataclass(frozen=True)
class Format:
    """A format by the ``name`` that ``--to`` takes.

    ``defined_at`` is the page of the tool that defines it, None where many programs read it. ``needs_images``: the
    image files are looked at; with ``takes_urls`` not if --url-prefix says where they are. ``places_images``: they are
    linked or copied. ``single_file`` names the only file of a format that has one: an --out with its ending is that
    file itself.
    """

    name: str
    description: str
    write: Writer
    defined_at: str | None = None
    needs_images: bool = True
    takes_urls: bool = False
    places_images: bool = False
    single_file: str | None = None

    def looks_at_images(self, url_prefix: str | None) -> bool:
        return self.needs_images and not (self.takes_urls and url_prefix is not None)


registered: dict[str, Format] = {}
"""Formats in the order in which their files were read; `legogcd.export.formats.FORMATS` is the list to use."""


def export_format(name: str, description: str, **needs: Any) -> Callable[[Writer], Writer]:
    """Make the decorated function the writer of a format; ``needs`` are the other fields of `Format`."""

    def register(write: Writer) -> Writer:
        before = registered.get(name)
        if before is not None and before.write.__module__ != write.__module__:
            raise ValueError(f"two formats are called {name!r}: {before.write.__module__} and {write.__module__}")
        registered[name] = Format(name, description, write, **needs)
        return write

    return register
