"""The files of the review page for a server: a fixed list, so that no path from a browser is ever opened."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True)
class ServedFile:
    """A file and what it is."""

    media_type: str
    content: bytes


@cache
def served_files() -> dict[str, ServedFile]:
    """All files of the page by their address: ``/static/…`` is the page itself, ``/web/…`` what it shares."""
    package = files("legogcd")
    folders = {"/web": package / "web", "/static": package / "review" / "static"}
    return dict(found for address, folder in folders.items() for found in _below(address, folder))


def _below(address: str, folder: Traversable) -> Iterator[tuple[str, ServedFile]]:
    if not folder.is_dir():
        return
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.is_dir():
            yield from _below(f"{address}/{file.name}", file)
        elif (ending := file.name.rpartition(".")[2]) in _MEDIA_TYPES:
            yield f"{address}/{file.name}", ServedFile(_MEDIA_TYPES[ending], file.read_bytes())
