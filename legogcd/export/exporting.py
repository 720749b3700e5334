"""A run written in a format, and what a person should know of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from legogcd.errors import UserError
from legogcd.export.choosing import select
from legogcd.export.destination import check_destination, made_at_once
from legogcd.export.format import Settings
from legogcd.export.formats import FORMATS
from legogcd.export.items import Include, Selection
from legogcd.export.placing import Link
from legogcd.wording import counted, printable, some_of


@dataclass(frozen=True)
class Exported:
    """What an export wrote, and what it left out.

    ``missing`` names the images whose files are gone or hold no image; ``refused`` has the reason for those that lead
    out of the image folder, are not called like images, or cannot be held by the format.
    """

    path: Path
    images: int
    categories: int
    not_asked_for: int
    missing: tuple[str, ...]
    refused: Mapping[str, str]
    notes: tuple[str, ...]
    set_aside: int = 0

    def lines(self) -> list[str]:
        """The summary for people: what was written first."""
        categories = f"{self.categories} {'category' if self.categories == 1 else 'categories'}"
        written = f"{counted(self.images, 'image')} in {categories} written to {printable(str(self.path))}"
        lines = [written + (f"; {self.not_asked_for} left out as asked" if self.not_asked_for else "")]
        if self.set_aside:
            lines.append(f"{counted(self.set_aside, 'image')} set aside left out; --only rejected exports them")
        if self.missing:
            lines.append(
                f"{counted(len(self.missing), 'image file')} missing or unreadable: {some_of(self.missing, 3)}"
            )
        if self.refused:
            lines.append(f"{counted(len(self.refused), 'image')} refused: {_first_reasons(self.refused)}")
        return [*lines, *self.notes]


def export_run(
    run: Path,
    to: str,
    out: Path,
    *,
    images: Path | None = None,
    link: Link = "symlink",
    include: Include | None = None,
    url_prefix: str | None = None,
    val_share: float = 0.2,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Exported:
    """Write the run ``run`` to ``out`` in the format ``to``, a key of ``FORMATS``.

    ``images`` is where the images are; it may be left out where the run was made here and they did not move. ``out``
    must not exist or be empty; it appears whole at the end, or not at all. ``progress`` is told how many images of how
    many are done.
    """
    if to not in FORMATS:
        raise UserError(f"--to {to}: expected one of {', '.join(FORMATS)}")
    if not 0 < val_share < 1:
        raise UserError(f"--val-share {val_share}: expected a share between 0 and 1, like 0.2")
    chosen = FORMATS[to]
    settings = Settings(link, url_prefix, val_share, seed, progress or (lambda done, total: None))
    selection = select(run, images, include or Include(), chosen.looks_at_images(url_prefix))
    check_destination(out, chosen, selection.root)
    if not selection.items:
        raise UserError(_nothing_left(selection, run))
    try:
        with made_at_once(out, chosen.single_file) as folder:
            written = chosen.write(selection, folder, settings)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror or error}; nothing was left behind") from None
    left_out = {*written.unreadable, *written.refused}
    kept = [item for item in selection.items if item.name not in left_out]
    return Exported(
        path=out,
        images=len(kept),
        categories=len({item.category for item in kept}),
        not_asked_for=selection.not_asked_for,
        missing=(*selection.missing, *written.unreadable),
        refused={**selection.refused, **written.refused},
        notes=written.notes,
        set_aside=selection.set_aside,
    )


def _nothing_left(selection: Selection, run: Path) -> str:
    if selection.refused:
        return (
            f"none of the {counted(len(selection.refused), 'image')} may be read: {_first_reasons(selection.refused)}"
        )
    if selection.missing:
        return (
            f"none of the {counted(len(selection.missing), 'image file')} is in {selection.root}, "
            f"first {selection.missing[0]!r}; give the folder they are in now with --images"
        )
    return f"{run} holds no image that --only and --min-confidence leave in"


def _first_reasons(refused: Mapping[str, str]) -> str:
    reasons = list(map(printable, refused.values()))
    return "; ".join(reasons[:3]) + (f"; and {len(reasons) - 3} more" if len(reasons) > 3 else "")
