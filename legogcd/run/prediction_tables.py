"""Tables written piece by piece: CSV, JSON lines or Parquet, by the file's ending."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from legogcd.csv_text import csv_line, escape_name
from legogcd.errors import UserError
from legogcd.files import replacing

Write = Callable[[pd.DataFrame], None]
_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("category", pa.string()),
        ("status", pa.string()),
        ("confidence", pa.float64()),
        ("unsure", pa.bool_()),
    ]
)


@contextmanager
def _csv(path: Path) -> Iterator[Write]:
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(csv_line(_SCHEMA.names))

        def write(table: pd.DataFrame) -> None:
            confidence = [f"{value:.4f}" for value in table["confidence"]]
            unsure = ["true" if value else "false" for value in table["unsure"]]
            names = (table[name].tolist() for name in ("path", "category", "status"))
            file.writelines(map(csv_line, zip(*names, confidence, unsure, strict=True)))

        yield write


@contextmanager
def _json_lines(path: Path) -> Iterator[Write]:
    with open(path, "w", encoding="utf-8", newline="") as file:

        def write(table: pd.DataFrame) -> None:
            _named(table).to_json(file, orient="records", lines=True, force_ascii=False)

        yield write


@contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    with pq.ParquetWriter(path, _SCHEMA) as writer:

        def write(table: pd.DataFrame) -> None:
            writer.write_table(pa.Table.from_pandas(_named(table), _SCHEMA, preserve_index=False))

        yield write


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """The table with names as text that UTF-8 can hold, as CSV files have them."""
    return table.assign(path=table["path"].map(escape_name))


FORMATS: dict[str, Callable[[Path], AbstractContextManager[Write]]] = {
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}


def check_format(out: Path) -> None:
    """Refuse a file whose ending says nothing, or that cannot be written, before anything long."""
    if out.suffix.lower() not in FORMATS:
        raise UserError(f"--out {out}: expected a file that ends in {', '.join(FORMATS)}")
    if out.is_dir():
        raise UserError(f"--out {out} is a folder; give a file")


@contextmanager
def open_table(out: Path) -> Iterator[Write]:
    """A function that appends to the table ``out``, which takes its place when all is written."""
    check_format(out)
    try:
        with replacing(out) as temporary, FORMATS[out.suffix.lower()](temporary) as write:
            yield write
    except OSError as error:
        raise UserError(f"cannot write {str(out)!r}: {error.strerror}") from None
