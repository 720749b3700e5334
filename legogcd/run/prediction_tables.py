"""Tables written piece by piece: CSV, JSON lines or Parquet, by the file's ending."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from legogcd.csv_text import csv_line, escape_name
from legogcd.errors import UserError
from legogcd.files import replacing
from legogcd.run.arguments import TABLE_SUFFIXES, check_table

Write = Callable[[pd.DataFrame], None]
STRANGER_GROUP = "stranger_group"
COLUMN_TYPES = {  # and their types by Arrow's names
    "path": "string",
    "category": "string",
    "status": "string",
    "confidence": "float64",
    "unsure": "bool",
    "stranger": "bool",
    "strangeness": "float64",
}
Columns = dict[str, str]


def called_strangers(table: pd.DataFrame) -> np.ndarray:
    """Which rows of a table [n] are strangers; none where the run cannot tell."""
    return table["stranger"].fillna(False).to_numpy(bool)


@contextmanager
def _csv(path: Path, columns: Columns) -> Iterator[Write]:
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(csv_line(columns))

        def write(table: pd.DataFrame) -> None:
            cells = [map(_cell, table[name].tolist()) for name in columns]
            file.writelines(map(csv_line, zip(*cells, strict=True)))

        yield write


def _cell(value: str | bool | float | None) -> str:
    """A value as text, as in ``true`` and ``0.9730``; nothing where there is none."""
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return ""
    return str(value).lower() if isinstance(value, bool) else f"{value:.4f}"


@contextmanager
def _json_lines(path: Path, columns: Columns) -> Iterator[Write]:
    with open(path, "w", encoding="utf-8", newline="") as file:

        def write(table: pd.DataFrame) -> None:
            named(table)[list(columns)].to_json(file, orient="records", lines=True, force_ascii=False)

        yield write


@contextmanager
def _parquet(path: Path, columns: Columns) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = arrow_schema(columns)
    with pq.ParquetWriter(path, schema) as writer:

        def write(table: pd.DataFrame) -> None:
            writer.write_table(pa.Table.from_pandas(named(table), schema, preserve_index=False))

        yield write


def arrow_schema(columns: Columns) -> Any:
    """Columns as Arrow has them."""
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])


def named(table: pd.DataFrame) -> pd.DataFrame:
    """The table with names as text that UTF-8 can hold, as CSV files have them."""
    return table.assign(path=table["path"].map(escape_name))


FORMATS: dict[str, Callable[[Path, Columns], AbstractContextManager[Write]]] = dict(
    zip(TABLE_SUFFIXES, (_csv, _json_lines, _parquet), strict=True)
)


@contextmanager
def open_table(out: Path, grouped: bool = False) -> Iterator[Write]:
    """A function that appends to the table ``out``, which takes its place when all is written.

    With ``grouped`` there is one more column, the strangers' groups.
    """
    check_table(out)
    columns = COLUMN_TYPES | ({STRANGER_GROUP: "string"} if grouped else {})
    try:
        with replacing(out) as temporary, FORMATS[out.suffix.lower()](temporary, columns) as write:
            yield write
    except OSError as error:
        raise UserError(f"cannot write {str(out)!r}: {error.strerror}") from None
