"""Writing files so that a reader sees the old content or the new, never half of either; plain names for them."""

import json
import os
import re
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from platformdirs import user_cache_path

from legogcd.errors import UserError

_TEMPORARY = re.compile(r"\..+\.tmp-(?P<host>[A-Za-z0-9.+=-]+)-(?P<pid>\d+)-[a-z0-9_]{8}(?:\.[^.]*)?")
_FORGOTTEN = 7 * 24 * 3600.0  # seconds after which nobody still writes, whatever host and process a name tells of
_in_use: set[Path] = set()  # temporary files that this process is writing now
_listing = threading.Lock()  # between a file's making and its listing nobody sweeps


def cache_folder() -> Path:
    """Where kept views and unpacked images live unless somebody says otherwise."""
    return user_cache_path("legogcd")


def read_lines(path: Path, option: str, what: str) -> list[str]:
    """The lines of a text file that hold something, spaces kept; ``option`` and ``what`` are for whoever gave it."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise UserError(f"{option} {path} is not UTF-8 text; expected one {what} per line") from None
    except OSError as error:
        raise UserError(f"cannot read {option} {path}: {error.strerror}") from None
    found = [line.rstrip("\r") for line in lines if line.strip()]
    if not found:
        raise UserError(f"{option} {path} is empty; expected one {what} per line")
    return found


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it is on the disk and takes ``path``'s place at once."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{target.name}.tmp-{_host()}-{os.getpid()}-"
    with _listing:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=target.suffix)
        temporary = Path(name).absolute()
        _in_use.add(temporary)
    os.close(descriptor)
    try:
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(target)
        sync_folder(target.parent)
    finally:
        _in_use.discard(temporary)
        temporary.unlink(missing_ok=True)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Bring a folder's list of names to the disk, where the system can: a rename survives a power cut only then."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # some network file systems refuse; they write names through
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep_temporaries(folder: str | os.PathLike[str]) -> list[Path]:
    """Remove the temporary files that killed processes left in ``folder``; returns them.

    Those of a live process of this host stay, and those of other hosts for a week: nobody here knows whether they live.
    """
    swept = []
    with _listing:
        for path in sorted(Path(folder).glob(".*.tmp-*")):
            found = _TEMPORARY.fullmatch(path.name)
            if found and path.absolute() not in _in_use and _is_abandoned(path, found["host"], int(found["pid"])):
                with suppress(OSError):
                    path.unlink()
                    swept.append(path)
    return swept


def _is_abandoned(path: Path, host: str, pid: int) -> bool:
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _FORGOTTEN:
            return True
    return host == _host() and (pid == os.getpid() or not psutil.pid_exists(pid))


def _host() -> str:
    return slug(socket.gethostname()) or "host"


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text atomically, with the same line ends on every system."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode())


def parse_json(content: bytes | str) -> Any:
    """What a JSON text holds; ValueError for anything else, brackets nested without end and other encodings too.

    >>> parse_json(b'{"a": [1]}')
    {'a': [1]}
    """
    try:
        return json.loads(content.decode() if isinstance(content, bytes) else content)
    except RecursionError:
        raise ValueError("nested too deep") from None


def append_line(path: str | os.PathLike[str], text: str) -> None:
    """Add one line of UTF-8 text to the end of a file; it is on the disk when this returns."""
    if "\n" in text:
        raise ValueError("one line has no line end in it")
    target = Path(path)
    fresh = not target.exists()
    with open(target, "ab") as file:
        file.write(text.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    if fresh:
        sync_folder(target.parent)


def slug(text: str) -> str:
    """A text as a plain file name.

    >>> slug("legogcd beta=1, seed 0")
    'legogcd-beta=1-seed-0'
    """
    return re.sub(r"[^A-Za-z0-9.+=]+", "-", text).strip("-")
