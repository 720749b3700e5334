"""A prediction in parts of some thousand images, each written whole: a finished part is never made twice.

They lie in a folder beside the table (``inbox.csv.unfinished``) until all are there. ``part-00003.parquet`` holds one
row per readable image; ``00003.json`` is written after it and says what could not be read and how the part can be told
from a damaged one. ``manifest.json`` names all that the answers depend on: parts of another question are not used.
"""

import json
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from legogcd.collection import Images
from legogcd.errors import UserError
from legogcd.files import replacing, sweep_temporaries
from legogcd.locks import Locked, locked, try_lock
from legogcd.run.prediction_tables import COLUMN_TYPES, arrow_schema, called_strangers, named
from legogcd.vision.views.sealed import Damaged, read_sealed, write_sealed
from legogcd.vision.views.shards import Shard
from legogcd.vision.views.store import Progress, Warn, silent

PART_IMAGES = 2048  # whole batches: which images meet in the trunk does not depend on the parts
FEATURES = "features"  # of strangers, where groups of them are wanted
_MANIFEST, _LOCK = "manifest.json", ".lock"
_FORMAT = 1

Batches = Callable[[Images, dict[str, str]], Iterator[tuple[pd.DataFrame, np.ndarray]]]
PartEngine = Callable[["Parts", Path, Sequence[Shard], Progress], int]  # makes parts; says how many images are done


@dataclass(frozen=True)
class Parts:
    """Images to be sorted by ``batches``; ``question`` is what their answers depend on, beside the images."""

    images: Images
    batches: Batches
    question: dict[str, Any]
    grouped: bool = False  # the features of strangers are kept too
    gpu: bool = False
    size: int = field(default_factory=lambda: PART_IMAGES)

    @cached_property
    def shards(self) -> list[Shard]:
        begins = range(0, len(self.images), self.size)
        return [Shard(number, begin, min(begin + self.size, len(self.images))) for number, begin in enumerate(begins)]

    @property
    def manifest(self) -> dict[str, Any]:
        described = {
            "format": _FORMAT,
            "images": self.images.fingerprint(),
            "count": len(self.images),
            "size": self.size,
            "grouped": self.grouped,
            **self.question,
        }
        manifest: dict[str, Any] = json.loads(json.dumps(described))
        return manifest

    def make(self, folder: Path, shard: Shard, progress: Progress = silent) -> int:
        """Make a part that is still missing; how many images are done by that, none where another process is at it."""
        try:
            with try_lock(shard.lock(folder), remove=True):
                if not is_there(folder, shard):
                    self._make(folder, shard, progress)
        except Locked:
            return 0
        return len(shard)

    def _make(self, folder: Path, shard: Shard, progress: Progress) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        unreadable: dict[str, str] = {}
        schema = arrow_schema(COLUMN_TYPES)
        schema = schema.append(pa.field(FEATURES, pa.list_(pa.float32()))) if self.grouped else schema
        done = 0
        with replacing(data(folder, shard)) as temporary, pq.ParquetWriter(temporary, schema) as writer:
            tables = []
            for table, features in self.batches(self.images.subset(shard.rows), unreadable):
                if self.grouped:
                    strange = called_strangers(table)
                    kept = [row.tolist() if is_one else None for row, is_one in zip(features, strange, strict=True)]
                    table = table.assign(**{FEATURES: pd.Series(kept, dtype=object)})
                tables.append(pa.Table.from_pandas(named(table), schema, preserve_index=False))
                done += len(table)
                progress(done + len(unreadable))
            writer.write_table(pa.concat_tables(tables) if tables else schema.empty_table())
        rows = {name: row for row, name in zip(shard.rows, self.images.names[shard.begin : shard.end], strict=True)}
        write_sealed(
            shard.record(folder),
            {
                "images": [shard.begin, shard.end],
                "checksum": _checksum(data(folder, shard)),
                "unreadable": {str(rows[name]): reason for name, reason in unreadable.items()},
            },
        )

    def read(self, folder: Path, shard: Shard) -> tuple[pd.DataFrame, dict[str, str]]:
        """A part's table, and the names of its unreadable images with the reasons."""
        import pyarrow.parquet as pq

        record = _record(folder, shard)
        bad = {int(row): reason for row, reason in record["unreadable"].items()}
        table: pd.DataFrame = pq.read_table(data(folder, shard)).to_pandas()
        readable = [self.images.names[row] for row in shard.rows if row not in bad]
        return table.assign(path=readable), {self.images.names[row]: reason for row, reason in bad.items()}


def here(parts: Parts, folder: Path, shards: Sequence[Shard], progress: Progress) -> int:
    """Make these parts in this process, those that no other is at; how many images are done by that."""
    done = 0
    for shard in shards:
        done += parts.make(folder, shard, _counting_on(progress, done))
    return done


@contextmanager
def completed(
    parts: Parts, out: Path, progress: Progress = silent, note: Warn = silent, engine: PartEngine = here
) -> Iterator[Path]:
    """The folder with all parts, made where they are missing; when this ends well, it has gone."""
    folder = out.with_name(f"{out.name}.unfinished")
    folder.mkdir(parents=True, exist_ok=True)
    with try_lock(folder / _LOCK, remove=True):
        _begin(parts, folder, note)
        try:
            while missing := [shard for shard in parts.shards if not is_there(folder, shard)]:
                done = len(parts.images) - sum(map(len, missing))
                progress(done)
                if not engine(parts, folder, missing, _counting_on(progress, done)):  # others are at all of them
                    with locked(missing[0].lock(folder), remove=True):
                        pass
            yield folder
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            _leave_nothing_empty(folder)


def keep_parts(folder: Path, out: Path, shards: Sequence[Shard]) -> None:
    """Let the parts themselves be the table: a folder of Parquet files that takes ``out``'s place."""
    if out.exists():
        shutil.rmtree(out)
    folder.replace(out)
    for path in (out / _MANIFEST, out / _LOCK, *(shard.record(out) for shard in shards)):
        path.unlink(missing_ok=True)


def data(folder: Path, shard: Shard) -> Path:
    return folder / f"part-{shard.number:05d}.parquet"


def is_there(folder: Path, shard: Shard) -> bool:
    """Whether a part is whole."""
    try:
        return bool(_record(folder, shard)["checksum"] == _checksum(data(folder, shard)))
    except (Damaged, OSError):
        return False


def _record(folder: Path, shard: Shard) -> dict[str, Any]:
    record = read_sealed(shard.record(folder))
    if record is None or record.get("images") != [shard.begin, shard.end]:
        raise Damaged(f"{shard.record(folder).name} is not this part's record")
    return record


def _begin(parts: Parts, folder: Path, note: Warn) -> None:
    """See that what an earlier start left answers the same question, or leave nothing of it."""
    sweep_temporaries(folder)
    try:
        before = read_sealed(folder / _MANIFEST)
    except Damaged:
        before = {}
    if before is not None and before == parts.manifest:
        done = sum(len(shard) for shard in parts.shards if is_there(folder, shard))
        note(f"going on: {done} of {len(parts.images)} images were sorted before")
        return
    if before is not None:
        note(f"{folder} holds parts of another prediction (other images, run or options): made again")
        for path in folder.iterdir():
            if path.name != _LOCK:
                path.unlink()
    elif any(path.name != _LOCK for path in folder.iterdir()):
        raise UserError(f"{folder} is there and holds something else; give another --out")
    write_sealed(folder / _MANIFEST, parts.manifest)


def _leave_nothing_empty(folder: Path) -> None:
    """Where no part was finished, nothing is worth going on with."""
    if folder.is_dir() and not any(path.name.startswith("part-") for path in folder.iterdir()):
        shutil.rmtree(folder, ignore_errors=True)


def _checksum(path: Path) -> int:
    return zlib.crc32(path.read_bytes())


def _counting_on(progress: Progress, done: int) -> Progress:
    return lambda more: progress(done + more)
