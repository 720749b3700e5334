"""Reading what data sets are made of: folders, text with one entry per line, and archives."""

import os
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from legogcd.errors import UserError
from legogcd.paper.datasets.dataset import Fault


def require(folder: Path, names: Iterable[str], fault: Fault) -> None:
    """Report every file or folder that is not in ``folder``."""
    for name in names:
        if not (folder / name).exists():
            fault(_missing(folder / name))


def file_names(folder: Path) -> list[str]:
    """Names of the files in a folder, sorted; hidden ones are passed over."""
    return sorted(entry.name for entry in _entries(folder) if entry.is_file())


def sub_folders(folder: Path) -> list[str]:
    """Names of the folders in a folder, sorted as strings; hidden ones are passed over."""
    return sorted(entry.name for entry in _entries(folder) if entry.is_dir())


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number, text) of the lines of a UTF-8 file that are not blank."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UserError(_missing(path)) from None
    except UnicodeDecodeError:
        raise UserError(f"{str(path)!r} is not text; is it damaged?") from None
    except OSError as error:
        raise UserError(f"cannot read {str(path)!r}: {error.strerror}") from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield number, line.strip()


def whole_number(text: str) -> int | None:
    """The number that plain digits spell; None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() else None


def read_files(source: Path, names: Iterable[str], fault: Fault) -> dict[str, bytes]:
    """Contents by name, of a folder or from anywhere in a .tar.gz; what is missing is reported and left out."""
    names = list(names)
    contents = _from_archive(source, names) if source.is_file() else _from_folder(source, names)
    for name in names:
        if name not in contents:
            fault(_missing(source / name))
    return {name: contents[name] for name in names if name in contents}


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except FileNotFoundError:
        raise UserError(_missing(folder)) from None
    except NotADirectoryError:
        raise UserError(f"{str(folder)!r} is a file; expected a folder") from None
    except OSError as error:
        raise UserError(f"cannot read the folder {str(folder)!r}: {error.strerror}") from None


def _from_folder(folder: Path, names: list[str]) -> dict[str, bytes]:
    contents = {}
    for name in names:
        try:
            contents[name] = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise UserError(f"cannot read {str(folder / name)!r}: {error.strerror}") from None
    return contents


def _from_archive(archive: Path, names: list[str]) -> dict[str, bytes]:
    """One pass from front to back: seeking in compressed data would read it again for every file."""
    contents = {}
    try:
        with tarfile.open(archive, "r|*") as tar:
            for member in tar:
                name = member.name.rsplit("/", 1)[-1]
                file = tar.extractfile(member) if member.isfile() and name in names else None
                if file is not None:
                    contents[name] = file.read()
                if len(contents) == len(names):
                    break
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise UserError(f"{str(archive)!r} cannot be unpacked ({error}); is it whole? fetch it again") from None
    return contents


def _missing(path: Path) -> str:
    return f"{str(path)!r} is missing"
