"""Images in zip and tar files: unpacked once into the cache, where they are files like any others.

An archive may come from anybody. Only members that are images by name (and ``.cls`` labels beside them) are written;
their names must stay below the folder; links, devices and encrypted members are passed over; nothing is believed of a
member's size before its bytes have come; and an archive that grows to more than `MOST_GROWTH` times its size is
refused. Archives inside archives are not opened.
"""

import bz2
import gzip
import hashlib
import json
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from legogcd.collection.folder_search import NOT_AN_IMAGE, OutsideError, inside, is_image_name
from legogcd.errors import UserError
from legogcd.files import cache_folder, parse_json, write_text
from legogcd.wording import counted, human_bytes, printable

PACKED_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2")
"""Endings of the archives that are read."""

SIDECAR = ".cls"  # WebDataset: the label of the image of the same name
MOST_GROWTH = 100
"""How many times its own size an archive may unpack to; photos hardly grow at all."""

LARGEST_MEMBER = 1_000_000_000
"""Bytes of the largest image file that is unpacked: no larger one could be read."""

_FREE_GROWTH = 1_000_000_000  # bytes any archive may unpack to, however small it is
_LARGEST_READ = 1 << 24  # bytes of a header: a tar file may announce names as long as it likes
_LARGEST_SIDECAR = 1 << 12
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)  # LZMA takes what memory it likes
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError)


@dataclass
class Unpacked:
    """Where the images of archives are now, how many, how large, and why other members were passed over."""

    folder: Path
    images: int = 0
    size: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    source: str = ""

    def said(self) -> str:
        """One line for people."""
        return f"{counted(self.images, 'image')} of {self.source} unpacked: {human_bytes(self.size)} in {self.folder}"


@dataclass(frozen=True)
class _Member:
    """A file of an archive; ``refused`` says why it is not unpacked, ``size`` is what the archive claims."""

    name: str
    size: int
    refused: str = ""
    open: Callable[[], IO[bytes]] | None = None


def is_archive(path: str | os.PathLike[str]) -> bool:
    """Whether a file is an archive by its name."""
    return os.fspath(path).lower().endswith(PACKED_SUFFIXES)


def unpack(archives: Sequence[Path], cache: Path | None = None) -> Unpacked:
    """The images of one archive, or of several, each below a folder of its own; unpacked before is not done again."""
    home = (cache or cache_folder()) / "unpacked"
    source = str(archives[0] if len(archives) == 1 else archives[0].parent)
    key = hashlib.sha256(json.dumps([_state(archive) for archive in archives]).encode()).hexdigest()[:16]
    target = home / f"{_stem(Path(source))}-{key}"
    before = _unpacked_before(target)
    if before is not None:
        return before
    home.mkdir(parents=True, exist_ok=True)
    with _temporary(home) as folder:
        made = Unpacked(folder, source=source)
        for archive in archives:
            prefix = "" if len(archives) == 1 else f"{_stem(archive)}/"
            _unpack_one(archive, folder, prefix, made)
        shutil.rmtree(target, ignore_errors=True)
        folder.rename(target)
    made.folder = target
    record = {"source": str(Path(source).resolve()), "archives": [_state(archive) for archive in archives]}
    found = {"images": made.images, "size": made.size, "skipped": made.skipped, "shown": source}
    write_text(_record(target), json.dumps(record | found) + "\n")
    return _below_own_name(made)


def _unpacked_before(target: Path) -> Unpacked | None:
    if not target.is_dir() or not _record(target).is_file():
        return None
    try:
        record = parse_json(_record(target).read_bytes())
        before = Unpacked(target, record["images"], record["size"], dict(record["skipped"]), record["shown"])
    except (ValueError, KeyError, TypeError):
        return None
    return _below_own_name(before)


def _below_own_name(made: Unpacked) -> Unpacked:
    """birds.zip often holds one folder, birds: that is then the folder of the images."""
    inner = made.folder / _stem(Path(made.source))
    if inner.is_dir() and [entry.name for entry in made.folder.iterdir()] == [inner.name]:
        made.folder = inner
    return made


def _record(target: Path) -> Path:
    return target.with_name(f"{target.name}.json")


def _state(archive: Path) -> list[Any]:
    status = archive.stat()
    return [str(archive.resolve()), status.st_size, status.st_mtime_ns]


def _stem(archive: Path) -> str:
    endings = [suffix for suffix in PACKED_SUFFIXES if archive.name.lower().endswith(suffix)]
    return archive.name[: len(archive.name) - max(map(len, endings), default=0)] or "archive"


@contextmanager
def _temporary(home: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir=home, prefix=".unpacking-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unpack_one(archive: Path, folder: Path, prefix: str, made: Unpacked) -> None:
    most = max(_FREE_GROWTH, MOST_GROWTH * archive.stat().st_size)
    members, passed, room = _zip_members if archive.suffix.lower() == ".zip" else _tar_members, 0, most
    try:
        with ExitStack() as files:
            for member in members(archive, files):
                passed += member.size
                if passed > most:
                    raise _grows(archive)
                reason = member.refused or refused_name(member.name)
                written = reason or _write(member, folder, prefix, room, archive)
                if isinstance(written, str):
                    made.skipped[prefix + member.name] = written
                    continue
                room -= written
                if is_image_name(member.name):
                    made.images, made.size = made.images + 1, made.size + written
    except UserError:
        raise
    except (*_DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's, not the archive's
            raise
        raise UserError(f"{str(archive)!r} is damaged or no archive ({printable(str(error))[:80]})") from None


def _grows(archive: Path) -> UserError:
    return UserError(
        f"{str(archive)!r} unpacks to more than {MOST_GROWTH} times its size; if you trust it, unpack it yourself and "
        "give the folder"
    )


def refused_name(name: str) -> str:
    """Why a member of this name is passed over; nothing where it is an image or an image's label."""
    path = PurePosixPath(name)
    if any(part.startswith(".") for part in path.parts if part not in (".", "..")) or "__MACOSX" in path.parts:
        return "hidden"
    return "" if is_image_name(name) or name.lower().endswith(SIDECAR) else NOT_AN_IMAGE


def _write(member: _Member, folder: Path, prefix: str, room: int, archive: Path) -> int | str:
    """Bytes of a member that is now below the folder, or why it is not."""
    try:
        target = inside(folder, prefix + member.name)
    except OutsideError as outside:
        return outside.reason.replace("image folder", "archive")
    assert member.open is not None
    largest = LARGEST_MEMBER if is_image_name(member.name) else _LARGEST_SIDECAR
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with member.open() as source, open(target, "xb") as copy:
            written = _copy(source, copy, min(largest, room))
    except FileExistsError:
        return "more than once in the archive"
    except _DAMAGED as error:
        target.unlink(missing_ok=True)
        return "encrypted" if "encrypted" in str(error) else f"damaged ({printable(str(error))[:60]})"
    if written is None:
        target.unlink()
        if largest > room:
            raise _grows(archive)
        return f"too large (limit {human_bytes(largest)})"
    time = archive.stat().st_mtime_ns
    os.utime(target, ns=(time, time))  # so that views kept of it are known again when it was unpacked once more
    return written


def _copy(source: IO[bytes], copy: IO[bytes], most: int) -> int | None:
    """Bytes copied; None where there are more than ``most``."""
    written = 0
    while block := source.read(1 << 16):
        written += len(block)
        if written > most:
            return None
        copy.write(block)
    return written


def _zip_members(archive: Path, files: ExitStack) -> Iterator[_Member]:
    packed = files.enter_context(zipfile.ZipFile(archive))
    for info in packed.infolist():
        if info.is_dir():
            continue
        kind = info.external_attr >> 28  # of files made on Unix: 8 is a regular file, 0 says nothing
        refused = (
            "encrypted"
            if info.flag_bits & 1
            else "not a regular file"
            if kind not in (0, 8)
            else ""
            if info.compress_type in _ZIP_METHODS
            else "compressed in a way that is not read"
        )
        yield _Member(info.filename, 0, refused, partial(packed.open, info))  # its bytes are counted as they come


def _tar_members(archive: Path, files: ExitStack) -> Iterator[_Member]:
    raw = files.enter_context(archive.open("rb"))
    start = raw.read(3)
    raw.seek(0)
    stream: IO[bytes] = raw
    if start[:2] == b"\x1f\x8b":
        stream = cast(IO[bytes], files.enter_context(gzip.GzipFile(fileobj=raw)))
    elif start == b"BZh":
        stream = cast(IO[bytes], files.enter_context(bz2.BZ2File(raw)))
    packed = files.enter_context(tarfile.TarFile(fileobj=cast(Any, SmallReads(stream)), errorlevel=1))
    while (member := packed.next()) is not None:
        packed.members = []  # type: ignore[attr-defined]  # or every header stays in memory
        if member.isdir():
            continue
        refused = "" if member.isreg() and not member.issparse() else "not a regular file"
        yield _Member(member.name, max(member.size, 0), refused, partial(_opened, packed, member))


def _opened(packed: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    opened = packed.extractfile(member)
    assert opened is not None
    return opened


class SmallReads:
    """A file of which nobody may ask for very much at once, whatever a header says."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.name = file, ""
        self.mode = "rb"

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LARGEST_READ:
            raise tarfile.ReadError("a header is too large")
        return self._file.read(size)

    def seek(self, place: int) -> int:
        return self._file.seek(place)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        with suppress(OSError):
            self._file.close()


def unpacked_archives(cache: Path) -> Iterator[tuple[Path, str, bool | None]]:
    """Every folder of unpacked images in a cache: where, of which archive, and whether that is still the same.

    None: the archive is gone, and this is all there is of it.
    """
    for record in sorted((cache / "unpacked").glob("*.json")):
        folder = record.with_suffix("")
        with suppress(ValueError, KeyError, TypeError, OSError):
            known = parse_json(record.read_bytes())
            paths = [Path(state[0]) for state in known["archives"]]
            there = all(path.exists() for path in paths)
            same = there and [_state(path) for path in paths] == known["archives"]
            yield folder, known["source"], same if there else None


def forget_unpacked(folder: Path) -> None:
    """Remove a folder of unpacked images."""
    _record(folder).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
