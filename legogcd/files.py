"""Writing files so that a reader sees the old content or the new, never half of either; plain names for them."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it is flushed and takes ``path``'s place at once."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text atomically, with the same line ends on every system."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode())


def slug(text: str) -> str:
    """A text as a plain file name.

    >>> slug("legogcd beta=1, seed 0")
    'legogcd-beta=1-seed-0'
    """
    return re.sub(r"[^A-Za-z0-9.+=]+", "-", text).strip("-")
