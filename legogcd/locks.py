"""File locks that a process's death releases: wait for one, or be told at once who has it.

The lock is on a small file beside what it guards, which names its holder. A file system without locks does not stop
the work: the lock then says that it guards nothing (`Lock.guards`, and ``warn``). A child made by ``os.fork`` shares
its parent's lock; a started program does not.
"""

import errno
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from legogcd.errors import UserError

_UNSUPPORTED = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
_TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}

Warn = Callable[[str], None]


@dataclass(frozen=True)
class Holder:
    """Who has a lock, as the holder wrote it into the file; both unknown where nothing readable is there."""

    pid: int | None = None
    host: str | None = None

    def __str__(self) -> str:
        return "another process" if self.pid is None else f"process {self.pid} on {self.host}"


class Locked(UserError):  # noqa: N818 - it names the lock's state
    """Somebody else has the lock; ``holder`` says who."""

    def __init__(self, path: Path, holder: Holder) -> None:
        super().__init__(f"{path.parent} is in use by {holder} ({path.name})")
        self.path, self.holder = path, holder


class Lock:
    """A lock that is held until ``release``, the end of a ``with``, or the end of the process."""

    def __init__(self, path: Path, descriptor: int, guards: bool, remove: bool) -> None:
        self.path, self.guards = path, guards
        self._descriptor: int | None = descriptor
        self._remove = remove

    def release(self) -> None:
        """Let others have it; again is harmless."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            if self._remove and self.guards:
                with suppress(OSError):  # while the lock is held: who waits for this file sees that it is gone
                    self.path.unlink()
        finally:
            _unlock(descriptor)
            os.close(descriptor)

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.release()


@contextmanager
def locked(path: str | os.PathLike[str], warn: Warn | None = None, remove: bool = False) -> Iterator[Lock]:
    """Hold the lock on ``path``, after waiting for whoever has it; with ``remove`` the file goes with the lock."""
    with _take(Path(path), True, warn, remove) as lock:
        yield lock


def try_lock(path: str | os.PathLike[str], warn: Warn | None = None, remove: bool = False) -> Lock:
    """The lock on ``path``, or `Locked` at once where somebody has it."""
    return _take(Path(path), False, warn, remove)


def holder_of(path: str | os.PathLike[str]) -> Holder | None:
    """Who has the lock on ``path`` now; None where nobody has it."""
    if not Path(path).exists():
        return None
    try:
        try_lock(path).release()
    except Locked as taken:
        return taken.holder
    return None


def _take(path: Path, wait: bool, warn: Warn | None, remove: bool) -> Lock:
    while True:
        descriptor = _opened(path)
        try:
            guards = _lock(descriptor, wait)
            if not guards or _is_still(path, descriptor):
                if guards:
                    _write_holder(descriptor)
                elif warn is not None:
                    warn(f"{path.parent} is on a file system without locks: let only one process at a time work there")
                return Lock(path, descriptor, guards, remove)
        except OSError as error:
            holder = _read_holder(descriptor)
            os.close(descriptor)
            if error.errno in _TAKEN and not wait:
                raise Locked(path, holder) from None
            raise
        except BaseException:  # such as Ctrl-C while waiting
            os.close(descriptor)
            raise
        os.close(descriptor)  # its last holder removed it while we waited: the lock is on the file that is there now


def _opened(path: Path) -> int:
    """The lock file itself: a link in its place, which anybody may have put there, would let a lock write elsewhere."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise UserError(f"{path} is a link, which a lock never is; remove it") from None


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        there, ours = path.stat(), os.fstat(descriptor)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _write_holder(descriptor: int) -> None:
    with suppress(OSError):  # a full disk does not break the lock, only its label
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode())


def _read_holder(descriptor: int) -> Holder:
    os.lseek(descriptor, 0, os.SEEK_SET)
    found = re.fullmatch(r"(\d{1,10}) (\S{1,255})\n", os.read(descriptor, 512).decode("utf-8", "replace"))
    return Holder(int(found[1]), found[2]) if found else Holder()


if sys.platform == "win32":
    import msvcrt
    import time

    _PLACE = 1 << 30  # far behind the text: a locked byte cannot be read there

    def _lock(descriptor: int, wait: bool) -> bool:
        while True:
            try:
                os.lseek(descriptor, _PLACE, os.SEEK_SET)
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
                return True
            except OSError as error:
                if error.errno in _UNSUPPORTED:
                    return False
                if not wait:
                    raise
                time.sleep(0.1)

    def _unlock(descriptor: int) -> None:
        with suppress(OSError):
            os.lseek(descriptor, _PLACE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int, wait: bool) -> bool:
        """Whether the lock guards anything; OSError where somebody else has it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                return False
            raise
        return True

    def _unlock(descriptor: int) -> None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
