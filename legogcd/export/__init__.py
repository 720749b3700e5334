"""A run in the formats other tools read; the images are linked, copied or named, never moved or changed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from legogcd.errors import UserError
from legogcd.export.coco import write_coco
from legogcd.export.destination import check_destination, made_at_once
from legogcd.export.fiftyone import write_fiftyone
from legogcd.export.folders import write_folders
from legogcd.export.format import Format, Settings
from legogcd.export.hf_dataset import write_hf_dataset
from legogcd.export.label_studio import write_label_studio
from legogcd.export.placing import Link
from legogcd.export.records import Include, Selection, rows_of, select
from legogcd.export.table import write_table
from legogcd.export.yolo_cls import write_yolo_cls
from legogcd.wording import counted, some_of

__all__ = ["FORMATS", "Exported", "Format", "Include", "Link", "export_run", "rows_of"]

FORMATS: dict[str, Format] = {
    "folders": Format(write_folders, "one folder a category, with links to the images", places_images=True),
    "csv": Format(write_table, "one table", single_file="categories.csv", needs_images=False),
    "label-studio": Format(write_label_studio, "tasks with predictions and annotations, and the labeling interface"),
    "fiftyone": Format(write_fiftyone, "a FiftyOneImageClassificationDataset", places_images=True),
    "coco": Format(write_coco, "COCO JSON, one full-image box an image", single_file="annotations.json"),
    "yolo-cls": Format(write_yolo_cls, "train and val, one folder a category in each", places_images=True),
    "hf-dataset": Format(write_hf_dataset, "an imagefolder of the `datasets` library", places_images=True),
}
"""Every format by the name that ``--to`` takes."""


@dataclass(frozen=True)
class Exported:
    """What an export wrote. ``missing`` names the images whose files are gone or cannot be read: they are left out."""

    path: Path
    images: int
    categories: int
    not_asked_for: int
    missing: tuple[str, ...]
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """The summary for people: what was written first."""
        categories = f"{self.categories} {'category' if self.categories == 1 else 'categories'}"
        written = f"{counted(self.images, 'image')} in {categories} written to {self.path}"
        lines = [written + (f"; {self.not_asked_for} left out as asked" if self.not_asked_for else "")]
        if self.missing:
            lines.append(
                f"{counted(len(self.missing), 'image file')} missing or unreadable: {some_of(self.missing, 3)}"
            )
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

    ``images`` is where the images are now, if they moved since the run. ``out`` must not exist or be empty; it appears
    whole at the end, or not at all. ``progress`` is told how many images of how many are done.
    """
    if to not in FORMATS:
        raise UserError(f"--to {to}: expected one of {', '.join(FORMATS)}")
    if not 0 < val_share < 1:
        raise UserError(f"--val-share {val_share}: expected a share between 0 and 1, like 0.2")
    chosen = FORMATS[to]
    settings = Settings(link, url_prefix, val_share, seed, progress or (lambda done, total: None))
    needs_images = chosen.needs_images and not (to == "label-studio" and url_prefix is not None)
    selection = select(run, images, include or Include(), needs_images)
    check_destination(out, chosen, selection.root)
    if not selection.items:
        raise UserError(_nothing_left(selection, run))
    try:
        with made_at_once(out, chosen.single_file) as folder:
            written = chosen.write(selection, folder, settings)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror or error}; nothing was left behind") from None
    unreadable = set(written.unreadable)
    kept = [item for item in selection.items if item.name not in unreadable]
    return Exported(
        path=out,
        images=len(kept),
        categories=len({item.category for item in kept}),
        not_asked_for=selection.not_asked_for,
        missing=(*selection.missing, *written.unreadable),
        notes=written.notes,
    )


def _nothing_left(selection: Selection, run: Path) -> str:
    if selection.missing:
        return (
            f"none of the {counted(len(selection.missing), 'image file')} is in {selection.root}, "
            f"first {selection.missing[0]!r}; give the folder they are in now with --images"
        )
    return f"{run} holds no image that --only and --min-confidence leave in"
