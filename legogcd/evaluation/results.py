"""Finished runs as rows of a CSV file, and their mean and spread over seeds."""

import csv
import io
import math
import os
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from legogcd.errors import UserError
from legogcd.files import write_text


def _one_line(text: Any) -> Any:
    """Names may come from folders: white space becomes one blank, what cannot be printed its escape."""
    if not isinstance(text, str):
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in " ".join(text.split()))


def _or_unknown(value: Any) -> Any:
    """NaN, as a number or as text, is an unknown score."""
    missing = (isinstance(value, float) and math.isnan(value)) or (isinstance(value, str) and value.lower() == "nan")
    return None if missing else value


Text = Annotated[str, BeforeValidator(_one_line)]
Count = Annotated[int, Field(ge=0)]
Score = Annotated[Annotated[float, Field(ge=0, le=1)] | None, BeforeValidator(_or_unknown)]
Rand = Annotated[Annotated[float, Field(ge=-1, le=1)] | None, BeforeValidator(_or_unknown)]
Seconds = Annotated[Annotated[float, Field(ge=0, allow_inf_nan=False)] | None, BeforeValidator(_or_unknown)]


class Result(BaseModel):
    """One finished run: scores are fractions of the unlabelled training images after the last epoch.

    ``setup`` says what was cut or chosen against the published protocol ("": nothing), ``settings`` what differs from
    the method's published settings (see ``settings_text``). Runs are averaged only within one setup.

    >>> Result(dataset="cub", method="simgcd", seed=0, images=5994, epochs=200, all=0.619).percent("all")
    61.9
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: Annotated[Text, Field(min_length=1)]
    method: Annotated[Text, Field(min_length=1)]
    seed: int
    setup: Text = ""
    settings: Text = ""
    images: Count
    epochs: Count
    all: Score = None
    old: Score = None
    new: Score = None
    nmi: Score = None
    ari: Rand = None
    forgetting: Score = None
    test_all: Score = None
    test_old: Score = None
    test_new: Score = None
    seconds: Seconds = None
    peak_memory: Count | None = Field(None, description="bytes")
    version: Text = ""

    @property
    def key(self) -> tuple[str | int, ...]:
        """What makes it this run and no other."""
        return (self.dataset, self.method, self.seed, self.setup, self.settings, self.epochs)

    def percent(self, score: str) -> float | None:
        """A score by its name, in percent."""
        value: float | None = getattr(self, score)
        return None if value is None else 100 * value


COLUMNS = tuple(Result.model_fields)
_REQUIRED = tuple(name for name, field in Result.model_fields.items() if field.is_required())


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings as one text, the same however they are ordered or their numbers are written.

    >>> settings_text({"threshold": "0.850", "beta": 1.0})
    'beta=1 threshold=0.85'
    """
    return " ".join(f"{name}={_plain(settings[name])}" for name in sorted(settings))


def _plain(value: Any) -> str:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return str(int(number)) if number.is_integer() else repr(number)


class ResultBook:
    """Results in a CSV file, one row per run.

    The file may be missing, its columns may stand in any order, those it lacks are unknown and those it has too many
    are ignored. A row that is added takes the place of the one with the same key.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._rows = _read(self.path)

    @property
    def rows(self) -> list[Result]:
        """All results, in the file's order."""
        return list(self._rows.values())

    def find(self, **key: Any) -> list[Result]:
        """The results that have these values, as in ``find(dataset="cub", seed=0)``."""
        return [row for row in self.rows if all(getattr(row, name) == value for name, value in key.items())]

    def add(self, result: Result) -> None:
        """Write the result; rows that others have added to the file since it was read are kept."""
        rows = {**_read(self.path), result.key: result}
        try:
            write_text(self.path, _as_csv(rows.values()))
        except OSError as error:
            raise UserError(f"cannot write {str(self.path)!r}: {error.strerror}") from None
        self._rows = rows


def _as_csv(rows: Iterable[Result]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(row.model_dump().values() for row in rows)
    return text.getvalue()


def _read(path: Path) -> dict[tuple[str | int, ...], Result]:
    """Results by key; of two rows with one key the later counts."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise UserError(f"{str(path)!r} is not UTF-8 text; save it as 'CSV UTF-8'") from None
    except OSError as error:
        raise UserError(f"cannot read {str(path)!r}: {error.strerror}") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: dict[tuple[str | int, ...], Result] = {}
    try:
        header = [cell.strip().lower() for cell in next(reader, [])]
        _check_header(path, header)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                row = _row(path, reader.line_num, header, cells)
                rows[row.key] = row
    except csv.Error as error:
        raise UserError(f"{str(path)!r} line {reader.line_num} is not valid CSV: {error}") from None
    return rows


def _check_header(path: Path, header: list[str]) -> None:
    lacking = [name for name in _REQUIRED if name not in header]
    if lacking:
        raise UserError(f"{str(path)!r} line 1 has no column {lacking[0]!r}; a book of results has {','.join(COLUMNS)}")
    twice = [name for name in COLUMNS if header.count(name) > 1]
    if twice:
        raise UserError(f"{str(path)!r} line 1 has the column {twice[0]!r} twice; keep one")


def _row(path: Path, line: int, header: list[str], cells: list[str]) -> Result:
    if len(cells) != len(header):
        raise UserError(f"{str(path)!r} line {line} has {len(cells)} cells, the header {len(header)}; repair it")
    given = {name: cell.strip() for name, cell in zip(header, cells, strict=True) if name in COLUMNS and cell.strip()}
    try:
        return Result.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        column = str(first["loc"][0])
        shown = repr(given[column]) if column in given else "nothing"
        raise UserError(f"{str(path)!r} line {line}, column {column!r}: {shown}; {first['msg'].lower()}") from None


class MeanSpread(NamedTuple):
    """Mean, sample standard deviation (None of one value) and number of values; fractions, shown in percent."""

    mean: float
    std: float | None
    n: int

    def __str__(self) -> str:
        shown = f"{100 * self.mean:.1f}"
        return shown if self.std is None else f"{shown} ± {100 * self.std:.1f}"


def spread(values: Iterable[float | None]) -> MeanSpread | None:
    """Mean and sample standard deviation of the values there are; None where there is none.

    >>> print(spread([0.86, None, 0.88]))
    87.0 ± 1.4
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    return MeanSpread(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None, len(known))
