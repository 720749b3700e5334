"""manifest.json: the digests of a finished run's files, so that what is damaged is found and not used."""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

from legogcd.errors import DamagedFileError
from legogcd.files import parse_json, write_text

MANIFEST = "manifest.json"
_FORMAT = 1
_NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)  # of a file in the folder itself


def seal(folder: Path, names: Iterable[str]) -> None:
    """Note what files of a run hold now; files noted before stay noted while they are there."""
    before = {name: digest for name, digest in read_manifest(folder).items() if (folder / name).is_file()}
    files = before | {name: _digest(folder / name) for name in names}
    write_text(folder / MANIFEST, json.dumps({"format": _FORMAT, "files": files}, indent=1, sort_keys=True) + "\n")


def read_manifest(folder: Path) -> dict[str, str]:
    """Digests by file name; empty where the run is not finished."""
    path = folder / MANIFEST
    if not path.exists():
        return {}
    try:
        content = parse_json(path.read_bytes())
        files = {str(name): str(digest) for name, digest in content["files"].items()}
        sound = content["format"] == _FORMAT and all(map(_NAME.fullmatch, files))
    except (ValueError, KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise DamagedFileError(f"{path} is damaged; `legogcd discover ... --resume` makes it again")
    return files


def discard_damaged_manifest(folder: Path) -> None:
    """Let a run be gone on with whose manifest is no manifest; all it says is found again."""
    try:
        read_manifest(folder)
    except DamagedFileError:
        (folder / MANIFEST).unlink()


def check_sealed(folder: Path, name: str) -> None:
    """Refuse a file that a finished run noted and that is not what it was."""
    if (folder / name).is_symlink():
        raise DamagedFileError(f"{folder / name} is a link, which a run never writes; put the file in its place")
    digest = read_manifest(folder).get(name)
    if digest is not None and digest != _digest(folder / name):
        raise DamagedFileError(f"{folder / name} is not what the run wrote: it is damaged or was changed by hand")


def damaged_files(folder: Path) -> list[str]:
    """The files of a finished run that are gone or not what they were."""
    return [
        name
        for name, digest in read_manifest(folder).items()
        if (folder / name).is_symlink() or not (folder / name).is_file() or _digest(folder / name) != digest
    ]


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
