"""Of which images a folder of kept views is, and when it was last used: what `legogcd cache` tells a person.

It stands beside the views, not among them: nothing that is computed depends on it.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from legogcd.collection import ImageFiles, Images
from legogcd.files import parse_json, write_text


@dataclass(frozen=True)
class Use:
    """The folder the images were found in (None where they were given by name or from Python), and when."""

    root: str | None
    by_content: bool
    time: float


def note_use(cache: Path, name: str, images: Images, by_content: bool) -> None:
    """Say that the views ``name`` were used now; where nothing can be written, nothing is said.

    The same images give the same bytes: when it was is the file's own time.
    """
    root = str(images.root.resolve()) if isinstance(images, ImageFiles) and images.searched else None
    record, text = _record(cache, name), json.dumps({"root": root, "by_content": by_content}) + "\n"
    try:
        if record.is_file() and record.read_text("utf-8") == text:
            os.utime(record)
        else:
            write_text(record, text)
    except OSError:
        return


def read_use(cache: Path, name: str) -> Use | None:
    """What is known of the views ``name``; None where nothing is."""
    try:
        record = _record(cache, name)
        return Use(**parse_json(record.read_bytes()), time=record.stat().st_mtime)
    except (OSError, ValueError, TypeError):
        return None


def forget_use(cache: Path, name: str) -> None:
    """Views that are gone are used no more."""
    _record(cache, name).unlink(missing_ok=True)


def _record(cache: Path, name: str) -> Path:
    return cache / "uses" / f"{name}.json"
