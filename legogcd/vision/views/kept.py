"""Kept views: V random views of every image and the evaluation view, encoded once, memory-mapped ever after."""

import mmap
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from legogcd.errors import UserError
from legogcd.vision.tail import TailInput
from legogcd.vision.views.rows import Rows, TallTensor
from legogcd.vision.views.sealed import MANIFEST, Damaged, read_sealed
from legogcd.vision.views.shards import Layout, Record, Shard, check_images, read_record, sample
from legogcd.vision.views.source import ALL
from legogcd.vision.views.tensor_format import StoredTensor

CHECKED_AT_LEAST = 1  # image of every shard that is compared with its checksum on opening
CHECKED_BYTES = 16 << 20  # and so much of the folder: all of a small one
_OPEN_FILES_OF_OTHERS = 512


class DamagedViews(UserError):  # noqa: N818 - it names what was found
    """A folder of kept views is not whole; ``shards`` are damaged or missing, ``reasons`` say why in their order."""

    def __init__(self, folder: Path, shards: Sequence[Shard], reasons: Sequence[str]) -> None:
        more = f" and {len(reasons) - 3} more" if len(reasons) > 3 else ""
        super().__init__(f"kept views in {folder} are damaged: {'; '.join(reasons[:3])}{more}")
        self.folder, self.shards, self.reasons = folder, list(shards), list(reasons)


class KeptViews:
    """An opened folder of kept views: states of any view of any image, straight from the memory map.

    Of the views it holds, the first ``views`` are used: they are those that would have been stored alone. Opening looks
    at every shard's size and record and compares a sample of its images with their checksums; `DamagedViews` where
    something is wrong. `legogcd.vision.views.store.check_kept` looks at everything.
    """

    def __init__(self, folder: Path, views: int | None = None) -> None:
        self.folder, self.layout = folder, read_layout(folder)
        self.n_images: int = self.layout.n_images
        self.n_views: int = self.layout.held - 1 if views is None else views
        records = _sound_records(folder, self.layout)
        self.unreadable = {row: reason for record in records for row, reason in record.unreadable.items()}
        shards = self.layout.shards()
        _allow_open_files(len(shards))
        maps = [_mapped(shard.data(folder), self.layout.size(shard)) for shard in shards]
        sections = [self.layout.sections(shard) for shard in shards]
        self._tensors = [
            MappedTensor(tensor, self.layout, shards, maps, [begins[place] for begins in sections])
            for place, tensor in enumerate(self.layout.tensors)
        ]

    def states(self, rows: Tensor, slots: Tensor) -> TailInput:
        """Views ``slots`` [N] (0 = the evaluation view) of images ``rows`` [N]; what is large is not copied."""
        flat = rows * self.layout.held + slots
        return tuple(tensor.rows(flat) for tensor in self._tensors)

    def pair(self, rows: Tensor, generator: torch.Generator, part: slice = ALL) -> TailInput:
        """Two different random views of each image: [2·B, ...], all first views before all second ones.

        Of a ``part`` of the batch only that, with the views it would have among all.
        """
        first = torch.randint(self.n_views, rows.shape, generator=generator)
        step = torch.randint(1, self.n_views, rows.shape, generator=generator)
        second = (first + step) % self.n_views
        return self.states(rows[part].repeat(2), 1 + torch.cat([first[part], second[part]]))

    def evaluation(self, rows: Tensor) -> TailInput:
        """The evaluation view of each image: [N, ...]."""
        return self.states(rows, torch.zeros_like(rows))


def read_layout(folder: Path) -> Layout:
    """What a folder's manifest says about its shards."""
    try:
        manifest = read_sealed(folder / MANIFEST)
        if manifest is None:
            raise Damaged(f"{MANIFEST} is missing")
        return Layout.of(manifest)
    except Damaged as damaged:
        raise DamagedViews(folder, [], [str(damaged)]) from None


def _sound_records(folder: Path, layout: Layout) -> list[Record]:
    """Every shard's record after a look at size and sample; all that is wrong is said at once."""
    records, bad, reasons = [], [], []
    shards = layout.shards()
    most = max(CHECKED_AT_LEAST, CHECKED_BYTES // (len(shards) * layout.bytes_per_image))
    for shard in shards:
        try:
            record = read_record(folder, layout, shard)
            if record is None:
                raise Damaged(f"{shard.record(folder).name} is missing")
            check_images(folder, layout, shard, record, sample(len(shard), most))
            records.append(record)
        except Damaged as damaged:
            bad.append(shard)
            reasons.append(str(damaged))
    if bad:
        raise DamagedViews(folder, bad, reasons)
    return records


def _mapped(path: Path, size: int) -> mmap.mmap:
    """A shard's file in memory, read from the disk where it is used; no file stays open where Python can do that."""
    options: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) and os.name == "posix" else {}
    with open(path, "rb") as file:
        # read-only: a writable private map larger than memory is refused by some systems
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ, **options)


def _as_bytes(mapped: mmap.mmap) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given buffer is not writable")  # and nothing writes to it
        return torch.frombuffer(mapped, dtype=torch.uint8)


class MappedTensor:
    """A state tensor of all shards: numbers [views, *shape] that are read from disk when they are used."""

    def __init__(
        self, tensor: StoredTensor, layout: Layout, shards: list[Shard], maps: list[mmap.mmap], sections: list[int]
    ) -> None:
        self._tensor, self._maps, self._sections = tensor, maps, sections
        self._height = layout.shard_images * layout.held  # views in a shard
        size, numbers, scales = layout.held * tensor.bytes_per_view, [], []
        for shard, mapped, begin in zip(shards, maps, sections, strict=True):
            content = _as_bytes(mapped)[begin : begin + len(shard) * size]
            found, scale = tensor.unpacked(content.view(len(shard) * layout.held, *tensor.shape[:-1], -1))
            numbers.append(found)
            scales += [] if scale is None else [scale]
        self.numbers, self.scales = TallTensor(numbers), TallTensor(scales) if scales else None

    def rows(self, index: Tensor) -> Tensor | Rows:
        """Views ``index`` [N]: vectors are copied out, anything larger stays where it is and is read ahead."""
        rows = Rows(self.numbers, index, self.scales)
        if len(self._tensor.shape) == 1:
            return rows.dense()
        if hasattr(mmap, "MADV_WILLNEED"):
            self._read_ahead(index.tolist())
        return rows

    def _read_ahead(self, index: list[int]) -> None:
        """Ask the system to have these views in memory by the time they are used."""
        size, height, page = self._tensor.bytes_per_view, self._height, mmap.PAGESIZE
        for row in index:
            shard = row // height
            begin = self._sections[shard] + row % height * size
            aligned = begin // page * page
            self._maps[shard].madvise(mmap.MADV_WILLNEED, aligned, begin + size - aligned)


def _allow_open_files(count: int) -> None:
    """Python before 3.13 keeps a file open per map: ask for as many as there are shards, where the system lets us."""
    if os.name != "posix" or sys.version_info >= (3, 13):
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _OPEN_FILES_OF_OTHERS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(
                resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
            )
