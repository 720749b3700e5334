"""A small run to edit, and what the tests ask of it."""

import csv
from pathlib import Path

import pytest

from legogcd.edits import Edit
from legogcd.errors import UserError
from legogcd.run.categories import append_edit, current

ROWS = [
    ("owl/1.jpg", "owl", "labelled", "owl"),
    ("owl/2.jpg", "owl", "known", "owl"),
    ("hawk/1.jpg", "hawk", "labelled", "owl"),
    ("hawk/2.jpg", "hawk", "known", "hawk"),
    ("a b.jpg", "new-001", "novel", "new-001"),
    ("c,d.jpg", "new-001", "novel", "new-001"),
    ("鳥/é.jpg", "new-003", "novel", "new-003"),
    ("鳥/2.jpg", "new-003", "novel", "new-003"),
    ("鳥/3.jpg", "new-003", "novel", "new-003"),
    ("z.jpg", "new-004", "novel", "new-004"),
]


def write_run(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "predictions.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["path", "category", "status", "confidence", "predicted"])
        writer.writerows([path, category, status, "0.5000", predicted] for path, category, status, predicted in ROWS)
    return folder


def categories(folder: Path) -> dict[str, str]:
    table = current(folder)
    return dict(zip(table["path"], table["category"], strict=True))


def members(folder: Path, category: str) -> list[str]:
    return [path for path, name in categories(folder).items() if name == category]


def statuses(folder: Path) -> dict[str, str]:
    table = current(folder)
    return dict(zip(table["path"], table["status"], strict=True))


def refused(folder: Path, edit: Edit, *parts: str) -> None:
    log = folder / "edits.jsonl"
    before = log.read_bytes() if log.exists() else None
    with pytest.raises(UserError) as error:
        append_edit(folder, edit)
    message = str(error.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message
    assert (log.read_bytes() if log.exists() else None) == before
