"""Small JSON files with a checksum of their own: what says of which images kept views are, and how they lie."""

import json
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from legogcd.files import write_text

MANIFEST = "manifest.json"  # of a folder of kept views


class Damaged(Exception):  # noqa: N818 - it names what was found
    """A file of a views folder is not as it was written; the text says what is wrong."""


def write_sealed(path: Path, content: dict[str, Any]) -> None:
    """JSON that tells whether it is still as it was written."""
    write_text(path, json.dumps({**content, "seal": _seal(content)}, sort_keys=True))


def read_sealed(path: Path) -> dict[str, Any] | None:
    """What `write_sealed` wrote, None where nothing is there; `Damaged` where it is anything else."""
    content: Any = None
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError, IsADirectoryError):
        pass
    if not isinstance(content, dict) or content.pop("seal", None) != _seal(content):
        raise Damaged(f"{path.name} is not as it was written")
    return content


def _seal(content: dict[str, Any]) -> int:
    with suppress(ValueError, RecursionError):
        return zlib.crc32(json.dumps(content, sort_keys=True).encode())
    return -1
