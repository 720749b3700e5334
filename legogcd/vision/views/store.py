"""A folder of kept views: which shards are missing, making them, finding the folder again, checking it.

A folder ``views-<key>`` has shards (`legogcd.vision.views.shards`) and, once all of them are there, ``manifest.json``,
which names everything the contents depend on. Any process may make any missing shard in any order; a shard that is
being made is locked, and one that is finished is never made twice.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import torch

from legogcd.errors import UserError
from legogcd.files import sweep_temporaries
from legogcd.locks import Locked, locked, try_lock
from legogcd.vision.tail import State
from legogcd.vision.views.kept import DamagedViews, KeptViews, read_layout
from legogcd.vision.views.request import ViewRequest
from legogcd.vision.views.sealed import MANIFEST, Damaged, read_sealed, write_sealed
from legogcd.vision.views.shards import (
    Layout,
    Shard,
    check_images,
    discard,
    read_record,
    writing,
)
from legogcd.vision.views.tensor_format import DTYPES
from legogcd.wording import counted, some_of

_MOST_VIEWS = 64  # up to which a folder with more views than wanted is looked for

Progress = Callable[[int], None]
Warn = Callable[[str], None]
Engine = Callable[[ViewRequest, Path, Sequence[Shard], Progress], int]  # makes shards; says how many images are done


def silent(_: object) -> None:
    """Nobody wants to hear it."""


def missing_shards(request: ViewRequest, folder: Path) -> list[Shard]:
    """The shards that are not there; one whose record or size is wrong is not."""
    return [shard for shard in request.shards() if not _is_there(folder, request.layout, shard)]


def encode_shard(request: ViewRequest, folder: Path, shard: Shard, progress: Progress = silent) -> None:
    """Make one shard, whatever is there; ``progress`` hears how many of its images are done."""
    done = 0
    with writing(folder, request.layout, shard) as writer:
        stream = request.encoder.stream(request.images, shard.rows, request.crop, request.images_per_batch)
        for rows, state, bad in stream:
            if state is not None:
                _check_finite(request, rows, state)
                writer.add(rows, state)
            writer.unreadable |= bad
            done += len(rows) + len(bad)
            progress(done)


def find_kept(request: ViewRequest, cache: Path, warn: Warn = silent) -> KeptViews | None:
    """The kept views if they are there and whole, alone or among more of them; what is damaged is said, not used."""
    for held in _served_by(request, cache):
        folder = held.folder(cache)
        try:
            if read_sealed(folder / MANIFEST) != held.manifest:
                raise Damaged(f"{MANIFEST} is not what it should be")
            return KeptViews(folder, request.views)
        except (Damaged, DamagedViews) as damaged:
            warn(str(damaged) if isinstance(damaged, DamagedViews) else f"kept views in {folder}: {damaged}")
        except OSError as error:
            warn(f"kept views in {folder} cannot be read ({error.strerror})")
    return None


def encode_missing(request: ViewRequest, cache: Path, progress: Progress = silent, warn: Warn = silent) -> KeptViews:
    """The kept views, made or completed first where needed; ``progress`` hears how many images are done."""
    return find_kept(request, cache, warn) or complete_kept(request, cache, progress, warn)


def here(request: ViewRequest, folder: Path, shards: Sequence[Shard], progress: Progress) -> int:
    """Make these shards in this process, those that no other is at; how many images are done by that."""
    done = 0
    for shard in shards:
        done += encode_unless_taken(request, folder, shard, _counting_on(progress, done))
    return done


def complete_kept(
    request: ViewRequest, cache: Path, progress: Progress = silent, warn: Warn = silent, engine: Engine = here
) -> KeptViews:
    """The kept views after a look at everything that is there of them, and the encoding of what is not."""
    held = next(_served_by(request, cache), request)  # where more views have a damaged shard, that one is mended
    folder = held.folder(cache)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _complete(held, folder, progress, warn, engine)
    except OSError as error:
        raise UserError(f"cannot keep views in {cache}: {error.strerror}; give another folder with --cache") from error
    return KeptViews(folder, request.views)


def bytes_there(request: ViewRequest, cache: Path) -> int:
    """What an earlier, interrupted start or a damaged shard has left to use: bytes that need no more room."""
    held = next(_served_by(request, cache), request)
    missing = missing_shards(held, held.folder(cache))
    return (len(request.images) - sum(map(len, missing))) * held.layout.bytes_per_image


def check_kept(folder: Path, progress: Progress = silent) -> list[Shard]:
    """Compare everything in a folder with its checksums: the shards that are damaged or missing.

    `DamagedViews` where the manifest itself is not readable: nothing is known of the shards then.
    """
    layout, damaged = read_layout(folder), []
    for shard in layout.shards():
        if not _is_sound(folder, layout, shard):
            damaged.append(shard)
        progress(shard.end)
    return damaged


def _served_by(request: ViewRequest, cache: Path) -> Iterator[ViewRequest]:
    """The request, and those for more views, whose folders were completed once."""
    for views in range(request.views, _MOST_VIEWS + 1):
        held = request if views == request.views else request.with_views(views)
        if views != 1 and _exists(held.folder(cache) / MANIFEST):
            yield held


def _exists(path: Path) -> bool:
    with suppress(OSError):  # a cache that nobody may look into holds nothing for us
        return path.exists()
    return False


def _complete(request: ViewRequest, folder: Path, progress: Progress, warn: Warn, engine: Engine) -> None:
    """Let the engine make what is missing, beside any other process that does, and write the manifest."""
    sweep_temporaries(folder)
    _set_damaged_aside(request, folder, warn)  # nobody knows what stopped the process before
    total = len(request.images)
    while missing := missing_shards(request, folder):
        done = total - sum(map(len, missing))
        progress(done)
        if not engine(request, folder, missing, _counting_on(progress, done)):  # others are at work on all of them
            with locked(missing[0].lock(folder), remove=True):
                pass
    progress(total)
    _remove_idle_locks(request, folder)
    sweep_temporaries(folder)  # of processes that were killed meanwhile
    write_sealed(folder / MANIFEST, request.manifest)


def _counting_on(progress: Progress, done: int) -> Progress:
    return lambda more: progress(done + more)


def encode_unless_taken(request: ViewRequest, folder: Path, shard: Shard, progress: Progress = silent) -> int:
    """Encode a shard that is still missing; how many images are done by that, none where another process is at it."""
    try:
        with try_lock(shard.lock(folder), remove=True):
            if not _is_there(folder, request.layout, shard):
                encode_shard(request, folder, shard, progress)
    except Locked:
        return 0
    return len(shard)


def _remove_idle_locks(request: ViewRequest, folder: Path) -> None:
    """Of processes that were killed after their shard was whole."""
    for shard in request.shards():
        if shard.lock(folder).exists():
            with suppress(Locked):
                try_lock(shard.lock(folder), remove=True).release()


def _set_damaged_aside(request: ViewRequest, folder: Path, warn: Warn) -> None:
    """Look at everything that is there, and let what is damaged count as missing."""
    damaged = [
        shard
        for shard in request.shards()
        if shard.record(folder).exists() and not _is_sound(folder, request.layout, shard)
    ]
    for shard in damaged:
        discard(folder, shard)
    if damaged:
        names = some_of([shard.data(folder).name for shard in damaged], 3)
        warn(f"{counted(len(damaged), 'damaged shard')} of kept views made again: {names}")


def _is_there(folder: Path, layout: Layout, shard: Shard) -> bool:
    try:
        return read_record(folder, layout, shard) is not None
    except Damaged:
        return False


def _is_sound(folder: Path, layout: Layout, shard: Shard) -> bool:
    try:
        record = read_record(folder, layout, shard)
        if record is not None:
            check_images(folder, layout, shard, record, range(len(shard)))
    except Damaged:
        return False
    return record is not None


def _check_finite(request: ViewRequest, rows: list[int], state: State) -> None:
    """No NaN and no infinity goes into a shard: a loss that breaks on it hours later would name nobody."""
    for tensor, part in zip(request.tensors, state, strict=True):
        largest = torch.finfo(DTYPES.get(tensor.dtype, torch.float32)).max
        low, high = part.view(len(rows), -1).aminmax(dim=1)  # [rows]; NaN is neither above nor below anything
        good = (low >= -largest) & (high <= largest)
        if not good.all():
            row = rows[int(good.logical_not().nonzero()[0])]
            raise UserError(
                f"{request.images.names[row]}: the backbone's {tensor.name} has NaN, infinity or numbers too large for "
                f"{tensor.dtype}; try --precision fp32 and --kept-dtype bf16, or leave the image out"
            )
