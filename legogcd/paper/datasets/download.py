"""Fetching official archives: resumed where the server allows it, checked against the published checksum, unpacked."""

import logging
import os
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from legogcd.errors import UserError
from legogcd.paper.datasets.dataset import Archive, PaperDataset
from legogcd.version import __version__

_CHUNK = 1 << 20
_SECONDS = 60.0
_RANGE_NOT_SATISFIABLE = 416


class Display(Protocol):
    """What shows progress; ``legogcd.display.Screen`` does."""

    def note(self, text: str) -> None: ...

    def counting(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]: ...


def download(dataset: PaperDataset, root: str | os.PathLike[str], display: Display) -> Path:
    """Fetch and unpack a data set whose terms allow it; returns the folder it is in."""
    folder = Path(root).expanduser()
    archive = dataset.archive
    if archive is None:
        raise UserError(f"{dataset.title} is not fetched for you; {dataset.source}")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--root {str(folder)!r} is a file; give a folder")
    found = dataset.find(folder)
    if found is not None and not (found / archive.file).exists():
        display.note(f"{dataset.title} is already in {found}")
        return found
    path = _fetch(archive, folder, display)
    display.note(f"unpacking {path.name}")
    _unpack(path, folder)
    return dataset.home(folder)


def _fetch(archive: Archive, folder: Path, display: Display) -> Path:
    import pooch  # type: ignore[import-untyped]

    pooch.get_logger().setLevel(logging.WARNING)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fetched = pooch.retrieve(
            archive.url,
            known_hash=f"md5:{archive.md5}",
            fname=archive.file,
            path=folder,
            downloader=_Resuming(folder / f"{archive.file}.part", display),
        )
    except ValueError:
        raise UserError(f"{archive.url} does not have the published checksum (MD5 {archive.md5}); try again") from None
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise UserError(
            f"cannot fetch {archive.url}: {reason}; what has arrived is kept, the same command goes on"
        ) from None
    return Path(fetched)


class _Resuming:
    """A pooch downloader that keeps what has arrived in ``part`` and asks only for the rest."""

    def __init__(self, part: Path, display: Display) -> None:
        self._part, self._display = part, display

    def __call__(self, url: str, output_file: str, _: Any) -> None:
        try:
            self._receive(url)
        except HTTPError as error:
            if error.code != _RANGE_NOT_SATISFIABLE:
                raise
        # nothing is left to ask for: the checksum tells whether the part is whole
        self._part.replace(output_file)

    def _receive(self, url: str) -> None:
        start = self._part.stat().st_size if self._part.exists() else 0
        headers = {"User-Agent": f"legogcd/{__version__}", **({"Range": f"bytes={start}-"} if start else {})}
        with urlopen(Request(url, headers=headers), timeout=_SECONDS) as response:
            if not str(response.headers.get("Content-Range", "")).startswith(f"bytes {start}-"):
                start = 0  # the server sends everything
            total = start + int(response.headers.get("Content-Length") or 0)
            title = self._part.name.removesuffix(".part")
            with (
                open(self._part, "ab" if start else "wb") as file,
                self._display.counting(f"{title} (MB)", max(1, total // 10**6)) as progress,
            ):
                done = start
                while chunk := response.read(_CHUNK):
                    file.write(chunk)
                    done += len(chunk)
                    progress(done // 10**6)
        if done < total:
            raise ConnectionError(f"the connection ended after {done} of {total} bytes")


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack beside and move into place, so that a half-unpacked data set is never taken for a whole one."""
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".unpacking-") as temporary:
            with tarfile.open(archive) as tar:
                tar.extractall(temporary, filter="data")
            for entry in Path(temporary).iterdir():
                if not (folder / entry.name).exists():
                    entry.rename(folder / entry.name)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise UserError(f"cannot unpack {str(archive)!r}: {error}") from None
