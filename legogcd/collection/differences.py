"""What a collection was when a run began, and what is different now."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from legogcd.collection.images import ImageFiles, Images
from legogcd.collection.object_store import ImageObjects
from legogcd.csv_text import read_rows, write_rows
from legogcd.wording import counted, some_of

if TYPE_CHECKING:
    from legogcd.collection.collection import Collection

Kind = Literal["names", "sizes", "times", "labels"]
_HEADER = ("path", "bytes", "modified", "label")
_SAID: dict[str, str] = {
    "names": "the images have other names, or there are more or fewer of them",
    "sizes": "image files have other sizes",
    "times": "image files were written again since; their sizes are the same",
    "labels": "images have other labels",
}


@dataclass(frozen=True)
class Difference:
    """One way in which a collection is not what it was; ``sentence`` says it to a person."""

    kind: Kind
    sentence: str


@dataclass(frozen=True)
class CollectionRecord:
    """What every image was: (bytes, time of modification, label) by name, as text; empty where there is none.

    ``digests`` is small, for a run's configuration: it tells *which* of names, sizes, times and labels changed. The
    record itself, one line per image, can also tell *whose*; it can be written beside.
    """

    images: Mapping[str, tuple[str, str, str]]

    @classmethod
    def of(cls, collection: "Collection") -> "CollectionRecord":
        images, states = collection.images, dict[str, tuple[str, str, str]]()
        for row, (name, label) in enumerate(zip(images.names, collection.labels.tolist(), strict=True)):
            size, time = _size_and_time(images, row)
            states[name] = (size, time, collection.known[label] if label >= 0 else "")
        return cls(states)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "CollectionRecord":
        rows = (row.cells for row in read_rows(path, _HEADER))
        return cls({name: (size, time, label) for name, size, time, label in rows})

    def write(self, path: str | os.PathLike[str]) -> None:
        write_rows(path, _HEADER, ((name, *state) for name, state in sorted(self.images.items())))

    def digests(self) -> dict[str, str | int]:
        """How many images there are, and a digest each of names, sizes, times and labels, whatever the order."""
        made: dict[str, str | int] = {"names": digest_by_name((name, "") for name in self.images)}
        for place, kind in enumerate(("sizes", "times", "labels")):
            made[kind] = digest_by_name((name, state[place]) for name, state in self.images.items())
        return {"images": len(self.images), **made}


def digest_by_name(values: Iterable[tuple[str, str]]) -> str:
    """SHA-256 over (name, value) pairs, whatever their order."""
    digest = hashlib.sha256()
    for name, value in sorted(values):
        for text in (name, value):
            raw = text.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "little") + raw)  # lengths first: no name can look like a value
    return digest.hexdigest()


def what_differs(
    recorded: Mapping[str, str | int], now: CollectionRecord, before: CollectionRecord | None = None
) -> list[Difference]:
    """How the collection differs from the ``recorded`` digests; with the whole record ``before``, images are named."""
    digests = now.digests()
    changed = [kind for kind in _SAID if kind in recorded and recorded[kind] != digests[kind]]
    if "names" in changed:
        changed = [kind for kind in changed if kind != "times"]
    if "sizes" in changed and "times" in changed:
        changed.remove("times")
    if before is None or before.digests() != dict(recorded):
        return _by_digests(changed, recorded, now)
    return _by_images(before, now)


def _by_digests(changed: list[str], recorded: Mapping[str, str | int], now: CollectionRecord) -> list[Difference]:
    if "names" in changed:  # every other digest holds the names too
        counts = f" ({recorded.get('images', '?')} then, {len(now.images)} now)"
        return [Difference("names", _SAID["names"] + counts)]
    return [Difference(kind, _SAID[kind]) for kind in ("sizes", "times", "labels") if kind in changed]


def _by_images(before: CollectionRecord, now: CollectionRecord) -> list[Difference]:
    gone, new = before.images.keys() - now.images.keys(), now.images.keys() - before.images.keys()
    both = sorted(before.images.keys() & now.images.keys())
    sizes = [name for name in both if before.images[name][0] != now.images[name][0]]
    resized = set(sizes)
    times = [name for name in both if before.images[name][1] != now.images[name][1] and name not in resized]
    labels = [name for name in both if before.images[name][2] != now.images[name][2]]
    said: list[tuple[Kind, Iterable[str], str]] = [
        ("names", gone, "no longer there"),
        ("names", new, "not there before"),
        ("sizes", sizes, "of another size than before"),
        ("times", times, "written again since, of the same size"),
        ("labels", labels, "labelled otherwise than before"),
    ]
    found = [(kind, sorted(names), words) for kind, names, words in said]
    return [
        Difference(kind, f"{counted(len(names), 'image')} {words}: {some_of(names, 3)}")
        for kind, names, words in found
        if names
    ]


def _size_and_time(images: Images, row: int) -> tuple[str, str]:
    """What tells one version of an image from another; nothing of images that are no files."""
    if isinstance(images, ImageObjects):
        return images.states[row]
    if not isinstance(images, ImageFiles):
        return "", ""
    try:
        status = images.item(row).stat()
    except OSError:
        return "", ""
    return str(status.st_size), str(status.st_mtime_ns)
