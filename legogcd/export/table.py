"""One table of all images, as predictions.csv but with the user's changes."""

import csv
from pathlib import Path

from legogcd.export.format import Settings, Written
from legogcd.export.records import Selection
from legogcd.run.discovery import COLUMNS


def write_table(selection: Selection, out: Path, settings: Settings) -> Written:
    """categories.csv: the columns of predictions.csv, and ``settled``: 1 where a person gave or confirmed it."""
    with open(out / "categories.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*COLUMNS, "settled"))
        writer.writerows(
            (item.name, item.category, item.status, f"{item.confidence:.4f}", item.predicted, int(item.settled))
            for item in selection.items
        )
    return Written()
