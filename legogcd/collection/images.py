"""The images of a collection: files below a folder, or arrays and other objects given from Python."""

import hashlib
import os
import posixpath
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from legogcd.collection.archives import PACKED_SUFFIXES, is_archive, unpack
from legogcd.collection.folder_search import NOT_AN_IMAGE, FolderSearch, is_image_name
from legogcd.collection.object_store import ImageObjects, as_url, find_objects
from legogcd.collection.pixels import check_pixels, one_image
from legogcd.errors import UnreadableImage, UserError
from legogcd.wording import counted

Indices: TypeAlias = Sequence[int] | NDArray[np.int64]
Item: TypeAlias = Path | bytes | NDArray[np.uint8]  # a file, the bytes of one, or pixels [H, W, 3]
Note: TypeAlias = Callable[[str], None]
_one_reader = threading.Lock()  # a sequence of somebody else's need not bear several threads at once


@dataclass(frozen=True)
class ImageFiles:
    """Images on disk: ``names`` are POSIX paths relative to ``root`` (or absolute, where they were given so).

    ``skipped`` tells why the other files found beside them were passed over, by name; a folder's name ends in a slash.
    ``leads_out`` are the names that a link takes out of ``root``: they are read, because whoever named the folder may
    have put the link there, but an export or a report may want to know.
    """

    root: Path
    names: tuple[str, ...]
    skipped: Mapping[str, str] = field(default_factory=dict, hash=False)
    leads_out: frozenset[str] = frozenset()
    searched: bool = False  # all that a search of ``root`` finds; otherwise somebody named them

    def __len__(self) -> int:
        return len(self.names)

    @property
    def ignored(self) -> int:
        """How many files beside them are no images by their names."""
        return sum(reason == NOT_AN_IMAGE for reason in self.skipped.values())

    def item(self, i: int) -> Path:
        return self.root / self.names[i]

    def subset(self, indices: Indices) -> "ImageFiles":
        return replace(self, names=tuple(self.names[int(i)] for i in indices), searched=False)

    def fingerprint(self, content: bool = False) -> str:
        """SHA-256 over names, sizes and modification times, or over names and contents.

        A file that is gone counts as such. Contents are read piece by piece: it takes long, not much memory.
        """
        digest = hashlib.sha256()
        for i, name in enumerate(self.names):
            state = content_digest(self.item(i)) if content else _size_and_time(self.item(i))
            digest.update(f"{name}\0{state}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class ImageArrays:
    """Images given from Python: one array or tensor of a batch, or a sequence of arrays, tensors, Pillow images, paths
    or bytes of image files.

    Nothing is copied until ``item`` takes one image. Subsets share ``source`` and keep the names. ``pick`` takes the
    image out of what the source holds, such as the first of a pair.
    """

    source: Any
    names: tuple[str, ...]
    rows: tuple[int, ...]
    pick: Callable[[Any], Any] | None = None

    @classmethod
    def over(cls, source: Any) -> "ImageArrays":
        """Wrap ``source`` after checking that every image has a readable shape, type and range."""
        check_pixels(source)
        return cls(source, numbered_names(len(source)), tuple(range(len(source))))

    @classmethod
    def lazily(cls, source: Any, pick: Callable[[Any], Any] | None = None) -> "ImageArrays":
        """Wrap a sequence that makes its items when it is asked: only the first is looked at here."""
        images = cls(source, numbered_names(len(source)), tuple(range(len(source))), pick)
        try:
            images.item(0)
        except UnreadableImage as unreadable:
            raise UserError(f"image 0 cannot be read: {unreadable.reason}") from None
        return images

    def __len__(self) -> int:
        return len(self.rows)

    def item(self, i: int) -> Item:
        if self.pick is None and isinstance(self.source, list | np.ndarray):
            return one_image(self.source[self.rows[i]])
        with _one_reader:
            given = self.source[self.rows[i]]
        return one_image(given if self.pick is None else self.pick(given))

    def subset(self, indices: Indices) -> "ImageArrays":
        chosen = [int(i) for i in indices]
        return replace(self, names=tuple(self.names[i] for i in chosen), rows=tuple(self.rows[i] for i in chosen))

    def fingerprint(self, content: bool = True) -> str:
        """SHA-256 over the shapes and pixels: arrays have nothing else, so ``content`` is always looked at."""
        digest = hashlib.sha256()
        for i in range(len(self)):
            try:
                image = self.item(i)
            except UnreadableImage as unreadable:
                image = unreadable.reason.encode()
            if isinstance(image, np.ndarray):
                digest.update(str(image.shape).encode())
                digest.update(image.data)
            else:
                state = content_digest(image) if isinstance(image, Path) else hashlib.sha256(image).hexdigest()
                digest.update(f"file {state}".encode())
        return digest.hexdigest()


def numbered_names(count: int) -> tuple[str, ...]:
    """Names of images that have none."""
    return tuple(f"image-{i:06d}" for i in range(count))


Searched: TypeAlias = ImageFiles | ImageObjects
Images: TypeAlias = Searched | ImageArrays


def as_images(images: Any, note: Note | None = None) -> Images:
    """Take images as a user has them: a folder, an archive, a URL, an image file, paths, or what holds pixels.

    Arrays are [N, H, W], [N, H, W, 1|3|4] or [N, 1|3|4, H, W], uint8 in 0..255 or floating in 0..1; a list may hold
    single images of different sizes, as arrays, tensors, Pillow images or the bytes of image files. A sequence that is
    no list is asked for one image at a time. Labels that come with images, as in a table or a data set, are for
    `images_and_labels`.

    >>> as_images(np.zeros((2, 8, 8, 3), np.uint8)).names
    ('image-000000', 'image-000001')
    """
    if isinstance(images, ImageFiles | ImageArrays | ImageObjects):
        return images
    if isinstance(images, str | os.PathLike) and (url := as_url(images)):
        return find_objects(url)
    if isinstance(images, str | os.PathLike):
        path = Path(images)
        return given_paths([path]) if is_file(path) and not is_archive(path) else find_images(path, note=note)
    if isinstance(images, Image.Image | bytes | bytearray):
        kind = "Pillow image" if isinstance(images, Image.Image) else "image's bytes"
        raise UserError(f"one {kind} was given; pass a list of images")
    if hasattr(images, "tocsr"):
        raise UserError("a sparse matrix holds no images; expected a folder, a list of paths, or arrays [N, H, W, 3]")
    if hasattr(images, "ndim") and hasattr(images, "shape") and images.ndim != 1:
        return _as_batch(images)
    if isinstance(images, Mapping) or not isinstance(images, Iterable | Sized):
        raise UserError(
            f"images were given as {type(images).__name__}; expected a folder, a list of paths, or arrays [N, H, W, 3]"
        )
    if is_lazy(images):
        return ImageArrays.lazily(images)
    return _listed(list(cast(Iterable[Any], images)))


def is_lazy(images: Any) -> bool:
    """Whether something makes its items when it is asked for them: it is indexed, and no list or array."""
    return (
        hasattr(images, "__len__")
        and hasattr(images, "__getitem__")
        and not isinstance(images, list | tuple | Mapping | str | bytes)
        and not hasattr(images, "shape")
        and len(images) > 0
    )


def _listed(items: list[Any]) -> Images:
    if not items:
        raise UserError("no images were given: the list is empty")
    are_paths = [isinstance(item, str | os.PathLike) for item in items]
    if all(are_paths):
        return given_paths(items)
    if any(are_paths):
        raise UserError("paths and pixels are mixed in one list of images; pass one kind")
    return ImageArrays.over(items)


def images_at(place: str | os.PathLike[str], cache: Path | None = None, note: Note | None = None) -> Searched:
    """The images of a folder or an archive, or at a URL such as s3://bucket/photos."""
    url = as_url(place)
    return find_objects(url, cache) if url else find_images(place, cache, note)


def find_images(root: str | os.PathLike[str], cache: Path | None = None, note: Note | None = None) -> ImageFiles:
    """Search a folder and its sub-folders for image files, sorted by POSIX relative path; or an archive of them.

    What is passed over (hidden files and folders, run folders, links in a circle, pipes, devices, folders that may not
    be read) is in ``skipped`` with the reason. A link to a folder is followed unless it leads back to a folder it is
    in. A link that leads nowhere is listed as an image and refused when it is read. The images of a zip or tar file,
    or of a folder of nothing but those, are unpacked into ``cache`` first (`legogcd.collection.archives`).
    """
    folder = Path(root)
    if not folder.exists():
        raise UserError(f"the image folder {str(folder)!r} does not exist")
    if not folder.is_dir():
        return _unpacked(folder, [folder], cache, note)
    search = FolderSearch(folder)
    if not search.names:
        archives = [folder / name for name in search.others if is_archive(folder / name)]
        if archives:
            return _unpacked(folder, archives, cache, note)
        others = Counter(posixpath.splitext(name)[1].lower() or "no ending" for name in search.others)
        seen = ", ".join(f"{count} × {suffix}" for suffix, count in others.most_common(3))
        raise UserError(
            f"there are no images in {str(folder)!r} ({f'only {seen}' if seen else _why_none(search)}); "
            "expected files such as .jpg, .png, .tif or .webp"
        )
    return ImageFiles(folder, tuple(sorted(search.names)), search.skipped, frozenset(search.leads_out), True)


def _why_none(search: FolderSearch) -> str:
    reasons = Counter(reason.split(" (")[0] for reason in search.skipped.values())
    return ", ".join(f"{count} × {reason}" for reason, count in reasons.most_common(3)) or "it is empty"


def _unpacked(given: Path, archives: Sequence[Path], cache: Path | None, note: Note | None) -> ImageFiles:
    """The images of one archive, or of several, each in a folder of its own."""
    if not is_archive(given) and not given.is_dir():
        if is_image_name(given.name):
            raise UserError(f"{str(given)!r} is a file, a single image; give the folder that holds the images")
        packed = ", ".join(PACKED_SUFFIXES)
        raise UserError(f"{str(given)!r} is a file; give the folder that holds the images, or an archive ({packed})")
    unpacked = unpack(archives, cache)
    if note is not None:
        note(unpacked.said())
    if not unpacked.images:
        raise UserError(f"there are no images in {str(given)!r}")
    found = find_images(unpacked.folder)
    return replace(found, skipped={**found.skipped, **unpacked.skipped})


def is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # such as a name too long for the system
        return False


def content_digest(path: Path) -> str:
    """SHA-256 of a file's content, read in pieces; what is no regular file is not opened."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return "not a file"
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "gone"


def _size_and_time(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return "gone"
    return f"{status.st_size} {status.st_mtime_ns}"


def given_paths(paths: Sequence[str | os.PathLike[str]]) -> ImageFiles:
    """Files by their paths, which must be there."""
    images = ImageFiles(Path.cwd(), tuple(PurePath(path).as_posix() for path in paths))
    missing = [images.names[i] for i in range(len(images)) if not is_file(images.item(i))]
    if missing:
        raise UserError(f"{len(missing)} of {counted(len(images), 'image file')} not there, first {missing[0]!r}")
    return images


def _as_batch(images: Any) -> ImageArrays:
    shape = tuple(images.shape)
    if isinstance(images, np.ndarray) and images.ndim == 3 and shape[-1] in (1, 3, 4):
        raise UserError(f"an array of shape {list(shape)} looks like one image; pass a list of images or [N, H, W, C]")
    if images.ndim not in (3, 4):
        raise UserError(f"images have shape {list(shape)}; expected [N, H, W], [N, H, W, 3] or [N, 3, H, W]")
    if shape[0] == 0:
        raise UserError("no images were given: the array is empty")
    return ImageArrays.over(images)
