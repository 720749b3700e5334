"""Images in object stores and other places with a URL (``s3://bucket/photos``), read where they are through fsspec.

Nothing is copied: an image's bytes are fetched when it is looked at. WebDataset tar files there are gone through once,
for where their members begin; that index is kept in the cache, and an image is then one read of a part of its tar.
"""

import hashlib
import json
import posixpath
import re
import tarfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

from legogcd.collection.archives import LARGEST_MEMBER, SIDECAR, SmallReads, is_archive, refused_name
from legogcd.collection.folder_search import NO_RAW_READER, NOT_AN_IMAGE, is_image_name, is_raw_name, reads_raw
from legogcd.errors import UnreadableImage, UserError
from legogcd.files import cache_folder, parse_json, write_text
from legogcd.wording import human_bytes, printable

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/{1,3}(.*)", re.DOTALL)  # one letter is a drive; a path has one slash
_STATES = ("ETag", "etag", "checksum", "md5Hash", "mtime", "LastModified", "last_modified", "created")
_PACKAGES = {
    "s3": "'legogcd[s3]'",
    "s3a": "'legogcd[s3]'",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
}
_AT_ONCE = 8 << 20  # bytes that are read ahead while a tar's index is made
_LARGEST_LABEL = 1 << 12


class Place(NamedTuple):
    """Where an image is: an object, or a part of one."""

    path: str
    begin: int = 0
    size: int | None = None  # None: all of it


@dataclass(frozen=True, eq=False)
class ImageObjects:
    """Images below a URL: ``names`` are relative to ``root``, ``states`` what a listing tells of each (size and tag).

    ``skipped`` tells why other objects were passed over; ``labels`` are those that stand in WebDataset's .cls members.
    """

    root: str
    names: tuple[str, ...]
    states: tuple[tuple[str, str], ...]
    places: tuple[Place, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def ignored(self) -> int:
        """How many objects beside them are no images by their names."""
        return sum(reason == NOT_AN_IMAGE for reason in self.skipped.values())

    def item(self, i: int) -> bytes:
        """An image's bytes, fetched now."""
        place = self.places[i]
        size = int(self.states[i][0] or 0)
        if size > LARGEST_MEMBER:
            raise UnreadableImage(f"too large ({human_bytes(size)}; limit {human_bytes(LARGEST_MEMBER)})")
        end = None if place.size is None else place.begin + place.size
        try:
            read: bytes = _file_system(self.root).cat_file(place.path, start=place.begin or None, end=end)
        except FileNotFoundError:
            raise UnreadableImage("file not found") from None
        except Exception as error:  # every store has errors of its own
            raise UnreadableImage(f"cannot be fetched ({_short(error)})") from None
        return read

    def subset(self, indices: Any) -> "ImageObjects":
        chosen = [int(i) for i in indices]
        return replace(
            self,
            names=tuple(self.names[i] for i in chosen),
            states=tuple(self.states[i] for i in chosen),
            places=tuple(self.places[i] for i in chosen),
        )

    def named(self, names: tuple[str, ...]) -> "ImageObjects":
        """The images of these names; one that is not there cannot be read."""
        row = {name: number for number, name in enumerate(self.names)}
        gone = Place(posixpath.join(_path(self.root), ".not-there"))
        found = [row.get(name) for name in names]
        return replace(
            self,
            names=names,
            states=tuple(("", "") if at is None else self.states[at] for at in found),
            places=tuple(gone if at is None else self.places[at] for at in found),
        )

    def fingerprint(self, content: bool = False) -> str:
        """SHA-256 over names and what the listing told of each, or over names and contents."""
        digest = hashlib.sha256()
        for i, name in enumerate(self.names):
            state = hashlib.sha256(self._content(i)).hexdigest() if content else " ".join(self.states[i])
            digest.update(f"{name}\0{state}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def _content(self, i: int) -> bytes:
        try:
            return self.item(i)
        except UnreadableImage as unreadable:
            return unreadable.reason.encode()


def as_url(place: object) -> str | None:
    """The URL that was given, None where it is a path of this machine. A path with its slashes collapsed will do.

    >>> as_url(Path("s3://bucket/photos")), as_url("file:///photos"), as_url("photos"), as_url(r"C:/photos")
    ('s3://bucket/photos', 'file:///photos', None, None)
    """
    found = _URL.fullmatch(str(place))
    if not found or (isinstance(place, Path) and place.exists()):
        return None
    scheme, rest = found[1].lower(), found[2].rstrip("/")
    return f"{scheme}:///{rest}" if scheme in ("file", "local") else f"{scheme}://{rest}"


def find_objects(url: str, home: Path | None = None) -> ImageObjects:
    """The images below a URL, sorted by name; of a tar file, or where there is nothing but those, their members."""
    system, top = _file_system(url), _path(url)
    try:
        listed: dict[str, dict[str, Any]] = system.find(top, detail=True)
    except Exception as error:
        raise UserError(f"cannot list {url}: {_short(error)}") from None
    if not listed:
        raise UserError(f"there is nothing at {url}")
    if list(listed) == [top]:  # one object
        return _of_one(url, top, listed[top], home)
    found, skipped = _images(listed, top)
    if not found:
        tars = sorted(path for path in listed if is_archive(path))
        if tars:
            return _members(url, {path: listed[path] for path in tars}, home, prefixed=True)
        raise UserError(f"there are no images at {url}; expected objects such as .jpg, .png, .tif or .webp")
    names = tuple(sorted(found))
    states = tuple(_state(listed[found[name]]) for name in names)
    return ImageObjects(url, names, states, tuple(Place(found[name]) for name in names), skipped)


def _of_one(url: str, path: str, about: dict[str, Any], home: Path | None) -> ImageObjects:
    if is_archive(path):
        return _members(url, {path: about}, home, prefixed=False)
    if not is_image_name(path):
        raise UserError(f"{url} is one object and no image by its name; give the folder that holds the images")
    return ImageObjects(posixpath.dirname(url), (posixpath.basename(path),), (_state(about),), (Place(path),))


def _images(listed: Mapping[str, Any], top: str) -> tuple[dict[str, str], dict[str, str]]:
    """Paths of the images by name, and why the others are none."""
    found, skipped = {}, {}
    for path in listed:
        name = path.removeprefix(top).lstrip("/")
        if any(part.startswith(".") for part in PurePosixPath(name).parts):
            skipped[name] = "hidden"
        elif not is_image_name(name):
            skipped[name] = NOT_AN_IMAGE
        elif is_raw_name(name) and not reads_raw():
            skipped[name] = NO_RAW_READER
        else:
            found[name] = path
    return found, skipped


def _members(url: str, tars: dict[str, dict[str, Any]], home: Path | None, prefixed: bool) -> ImageObjects:
    """The images inside tar files, each below the name of its tar where there are several."""
    places: dict[str, Place] = {}
    states: dict[str, tuple[str, str]] = {}
    skipped: dict[str, str] = {}
    labels: dict[str, str] = {}
    for path, about in tars.items():
        prefix = f"{posixpath.basename(path).rsplit('.tar', 1)[0]}/" if prefixed else ""
        index = _index(url, path, about, home)
        for name, begin, size in index["members"]:
            places[prefix + name] = Place(path, begin, size)
            states[prefix + name] = (str(size), _state(about)[1])
        skipped |= {prefix + name: reason for name, reason in index["skipped"].items()}
        labels |= {prefix + name: label for name, label in index["labels"].items()}
    if not places:
        raise UserError(f"there are no images in the tar files at {url}")
    names = tuple(sorted(places))
    by_stem = {name: labels.get(_stem(name), "") for name in names}
    return ImageObjects(
        url,
        names,
        tuple(states[name] for name in names),
        tuple(places[name] for name in names),
        skipped,
        {name: label for name, label in by_stem.items() if label},
    )


def _index(url: str, path: str, about: dict[str, Any], home: Path | None) -> dict[str, Any]:
    """Where the members of a tar are; kept, because finding out goes through all of it."""
    if not path.lower().endswith(".tar"):
        raise UserError(
            f"{url}: {posixpath.basename(path)} is compressed; at a URL only .tar files can be read in parts"
        )
    key = hashlib.sha256(json.dumps([url.split(":", 1)[0], path, *_state(about)]).encode()).hexdigest()[:20]
    kept = (home or cache_folder()) / "indexes" / f"{key}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = parse_json(kept.read_bytes())
        return {"members": known["members"], "skipped": dict(known["skipped"]), "labels": dict(known["labels"])}
    try:
        found = _indexed(url, path)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise UserError(f"{path} is damaged or no tar file ({printable(str(error))[:80]})") from None
    write_text(kept, json.dumps(found))
    return found


def _indexed(url: str, path: str) -> dict[str, Any]:
    members: dict[str, tuple[str, int, int]] = {}
    skipped: dict[str, str] = {}
    labels: dict[str, str] = {}
    with (
        _file_system(url).open(path, "rb", block_size=_AT_ONCE, cache_type="readahead") as stream,
        tarfile.TarFile(fileobj=cast(Any, SmallReads(stream)), errorlevel=1) as packed,
    ):
        while (member := packed.next()) is not None:
            packed.members = []  # type: ignore[attr-defined]  # or every header stays in memory
            name = posixpath.normpath(member.name)
            if member.isdir():
                continue
            if not member.isreg() or member.issparse():
                skipped[member.name] = "not a regular file"
            elif name.startswith(("/", "../")):
                skipped[member.name] = "leads out of the archive"
            elif reason := refused_name(name):
                skipped[member.name] = reason
            elif name in members:
                skipped[member.name] = "more than once in the archive"
            elif name.lower().endswith(SIDECAR):
                opened = packed.extractfile(member)
                text = opened.read(_LARGEST_LABEL).decode("utf-8", "replace") if opened else ""
                labels[_stem(name)] = text.split("\n", 1)[0].strip()[:200]
            else:
                members[name] = (name, member.offset_data, member.size)
    return {"members": list(members.values()), "skipped": skipped, "labels": labels}


def _stem(name: str) -> str:
    """What an image and its label have in common: WebDataset's key, up to the first dot of the last part."""
    folder, last = posixpath.split(name)
    return posixpath.join(folder, last.split(".", 1)[0])


def _state(about: Mapping[str, Any]) -> tuple[str, str]:
    """Size and whatever tells one version of an object from another."""
    tag = next((str(about[key]) for key in _STATES if about.get(key) is not None), "")
    return str(about.get("size") or 0), tag


@cache
def _file_system(url: str) -> Any:
    """What reads a URL; one line says what to install where nothing does."""
    from fsspec.core import url_to_fs

    scheme = url.split(":", 1)[0]
    try:
        return url_to_fs(url)[0]
    except ImportError:
        package = _PACKAGES.get(scheme, f"the fsspec package for {scheme}")
        raise UserError(f"{url}: {scheme}:// needs a package that is not installed: pip install {package}") from None
    except ValueError as error:
        raise UserError(f"{url}: {_short(error)}") from None


def _path(url: str) -> str:
    return str(_file_system(url)._strip_protocol(url)).rstrip("/")


def _short(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return printable(text)[:160]
