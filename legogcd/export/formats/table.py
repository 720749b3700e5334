"""One table of all images, as predictions.csv but with the user's changes."""

from collections.abc import Iterator
from pathlib import Path

from legogcd.csv_text import spreadsheet_text, write_rows
from legogcd.export.format import Settings, Written, export_format
from legogcd.export.items import Selection
from legogcd.wording import counted

_COLUMNS = ("path", "category", "status", "confidence", "predicted", "settled", "shown_path", "shown_category")


@export_format("csv", "one table", needs_images=False, single_file="categories.csv")
def write_table(selection: Selection, out: Path, settings: Settings) -> Written:
    """categories.csv: the columns of predictions.csv, ``settled``: 1 where a person gave or confirmed it, and path and
    category as a spreadsheet may show them."""
    write_rows(out / "categories.csv", _COLUMNS, _rows(selection, settings))
    names = [name for item in selection.items for name in (item.name, item.category, item.predicted)]
    formulas = {name for name in names if spreadsheet_text(name) != name}
    if not formulas:
        return Written()
    note = f"{counted(len(formulas), 'name')} would run as a formula in a spreadsheet"
    return Written((f"{note}: load path, category and predicted as text, or use shown_path and shown_category",))


def _rows(selection: Selection, settings: Settings) -> Iterator[tuple[str, ...]]:
    for done, item in enumerate(selection.items, 1):
        yield (
            item.name,
            item.category,
            item.status,
            f"{item.confidence:.4f}",
            item.predicted,
            str(int(item.settled)),
            spreadsheet_text(item.name),
            spreadsheet_text(item.category),
        )
        settings.progress(done, len(selection.items))
