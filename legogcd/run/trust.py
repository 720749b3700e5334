"""What a run folder may make this machine read: a run folder may come from anybody, and its config.json names folders.

A run that is made here is noted in the user's own state folder with its image folder and backbone. Of any other run
they are taken only from the user, who names them. Names of images must stay below the image folder.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_state_path

from legogcd.collection import ImageFiles, Searched, as_url, inside
from legogcd.collection.folder_search import OutsideError
from legogcd.collection.object_store import find_objects
from legogcd.errors import UnreadableImage, UserError
from legogcd.files import parse_json
from legogcd.run.config import RunConfig


def made_here_file() -> Path:
    """Where runs that were made here are noted, one JSON object per line."""
    return user_state_path("legogcd") / "runs.jsonl"


def remember_root(run: Path, root: str | Path | None, backbone: str | None = None) -> None:
    """Note that ``run`` is made here of the images in ``root``, with ``backbone``; None where there is no such folder.

    Where the state folder cannot be written nothing is noted: the user will be asked for the folder later.
    """
    entry = _entry(run, root, backbone)
    if entry in _entries():
        return
    line = json.dumps(entry, sort_keys=True).encode() + b"\n"
    path = made_here_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, b"\n" + line)  # a line that was cut off before ends here; empty ones are passed over
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError:
        return


def trusted_root(run: Path, config: RunConfig, images: Path | None) -> Path:
    """The folder with a run's images: the one the user names as ``images``, else that of a run made here."""
    if images is None and config.images.root is None:
        raise UserError("the run's images were given from Python; say with --images in which folder they are")
    root = images or _noted_root(run, config)
    if as_url(root):
        raise UserError(
            f"the run's images are at {as_url(root)}, where only `legogcd report` and `predict` read them; name a "
            "folder with a copy of them with --images"
        )
    if not root.is_dir():
        raise UserError(f"the image folder {str(root)!r} does not exist; say with --images where the images are now")
    return root


def run_images(run: Path, config: RunConfig, images: Path | None, names: Sequence[str]) -> Searched:
    """A run's images by their names, in the folder or at the URL that the user names, or of a run made here."""
    url = as_url(images) if images is not None else _noted_url(run, config)
    if url:
        return find_objects(url).named(tuple(names))
    return FilesBelow(trusted_root(run, config, images), tuple(names))


def _noted_url(run: Path, config: RunConfig) -> str | None:
    return as_url(_noted_root(run, config)) if config.images.root is not None else None


def _noted_root(run: Path, config: RunConfig) -> Path:
    """Where a run that was made here has its images."""
    root = next((Path(e["root"]) for e in _notes(run) if e["named"] == config.images.root), None)
    if root is None:
        raise UserError(f"{str(run)!r} was not made here (or was moved); name the folder of its images with --images")
    return root


def trusted_backbone(run: Path, config: RunConfig, given: str | None) -> str:
    """The backbone of a run: what the user gives, a name, or the file or folder a run made here was trained with."""
    name = config.options.protocol.backbone
    if given is not None:
        return given
    if not _is_on_disk(name) or any(entry["backbone"] == name for entry in _notes(run)):
        return name
    raise UserError(
        f"{str(run)!r} was not made here (or was moved) and names a backbone on disk, {name!r}; "
        "if you trust it, name it with --backbone"
    )


@dataclass(frozen=True)
class FilesBelow(ImageFiles):
    """Images named by a file that anybody may have written: one that is not below the root cannot be read."""

    def item(self, i: int) -> Path:
        try:
            return inside(self.root, self.names[i])
        except OutsideError as error:
            raise UnreadableImage(error.reason) from None


def _is_on_disk(name: str) -> bool:
    """Whether a backbone's name may mean a file or folder of this machine."""
    path = Path(name or ".").expanduser()
    return path.exists() or path.is_absolute() or name.startswith((".", "~")) or ".." in path.parts


def _entry(run: Path, root: str | Path | None, backbone: str | None) -> dict[str, str | None]:
    return {
        "run": str(run.resolve()),
        "named": None if root is None else str(root),  # as config.json has it
        "root": None if root is None else as_url(root) or str(Path(root).resolve()),
        "backbone": backbone,
    }


def _notes(run: Path) -> list[dict[str, Any]]:
    """What is noted of a run, the latest first."""
    here = str(run.resolve())
    return [entry for entry in reversed(_entries()) if entry["run"] == here]


def _entries() -> list[dict[str, Any]]:
    """All notes; damaged lines are passed over."""
    try:
        lines = made_here_file().read_bytes().splitlines()
    except OSError:
        return []
    return [entry for entry in map(_parsed, lines) if entry is not None]


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = parse_json(line)
    except ValueError:
        return None
    fields = {"run", "named", "root", "backbone"}
    whole = isinstance(entry, dict) and fields <= entry.keys() and isinstance(entry["run"], str)
    texts = whole and all(entry[field] is None or isinstance(entry[field], str) for field in fields)
    return entry if texts and (entry["named"] is None) == (entry["root"] is None) else None
