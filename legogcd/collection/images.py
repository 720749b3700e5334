"""The images of a collection: files below a folder, or arrays given from Python."""

import hashlib
import os
import posixpath
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from legogcd.collection.folder_search import NOT_AN_IMAGE, FolderSearch
from legogcd.collection.pixels import check_pixels, rgb
from legogcd.errors import UserError
from legogcd.wording import counted

Indices: TypeAlias = Sequence[int] | NDArray[np.int64]


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

    def __len__(self) -> int:
        return len(self.names)

    @property
    def ignored(self) -> int:
        """How many files beside them are no images by their names."""
        return sum(reason == NOT_AN_IMAGE for reason in self.skipped.values())

    def item(self, i: int) -> Path:
        return self.root / self.names[i]

    def subset(self, indices: Indices) -> "ImageFiles":
        return replace(self, names=tuple(self.names[int(i)] for i in indices))

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
    """Images given from Python: one array or tensor of a batch, or a sequence of arrays, tensors or Pillow images.

    Nothing is copied until ``item`` makes one image uint8 [H, W, 3]. Subsets share ``source`` and keep the names.
    """

    source: Any
    names: tuple[str, ...]
    rows: tuple[int, ...]

    @classmethod
    def over(cls, source: Any) -> "ImageArrays":
        """Wrap ``source`` after checking that every image has a readable shape, type and range."""
        check_pixels(source)
        return cls(source, tuple(f"image-{i:06d}" for i in range(len(source))), tuple(range(len(source))))

    def __len__(self) -> int:
        return len(self.rows)

    def item(self, i: int) -> NDArray[np.uint8]:
        return rgb(self.source[self.rows[i]])  # [H, W, 3]

    def subset(self, indices: Indices) -> "ImageArrays":
        chosen = [int(i) for i in indices]
        return replace(self, names=tuple(self.names[i] for i in chosen), rows=tuple(self.rows[i] for i in chosen))

    def fingerprint(self, content: bool = True) -> str:
        """SHA-256 over the shapes and pixels: arrays have nothing else, so ``content`` is always looked at."""
        digest = hashlib.sha256()
        for i in range(len(self)):
            pixels = self.item(i)
            digest.update(str(pixels.shape).encode())
            digest.update(pixels.data)
        return digest.hexdigest()


Images: TypeAlias = ImageFiles | ImageArrays


def as_images(images: Any) -> Images:
    """Take images as a user has them: a folder, paths, or arrays, tensors and Pillow images.

    Arrays are [N, H, W], [N, H, W, 1|3|4] or [N, 1|3|4, H, W], uint8 in 0..255 or floating in 0..1; a list may hold
    single images of different sizes.

    >>> as_images(np.zeros((2, 8, 8, 3), np.uint8)).names
    ('image-000000', 'image-000001')
    """
    if isinstance(images, ImageFiles | ImageArrays):
        return images
    if isinstance(images, str | os.PathLike):
        return find_images(images)
    if isinstance(images, Image.Image):
        raise UserError("one Pillow image was given; pass a list of images")
    if hasattr(images, "ndim") and hasattr(images, "shape") and images.ndim != 1:
        return _as_batch(images)
    if isinstance(images, Mapping) or not isinstance(images, Iterable):
        raise UserError(
            f"images were given as {type(images).__name__}; expected a folder, a list of paths, or arrays [N, H, W, 3]"
        )
    items = list(images)
    if not items:
        raise UserError("no images were given: the list is empty")
    are_paths = [isinstance(item, str | os.PathLike) for item in items]
    if all(are_paths):
        return _given_paths(items)
    if any(are_paths):
        raise UserError("paths and pixels are mixed in one list of images; pass one kind")
    return ImageArrays.over(items)


def find_images(root: str | os.PathLike[str]) -> ImageFiles:
    """Search a folder and its sub-folders for image files, sorted by POSIX relative path.

    What is passed over (hidden files and folders, run folders, links in a circle, pipes, devices, folders that may not
    be read) is in ``skipped`` with the reason. A link to a folder is followed unless it leads back to a folder it is
    in. A link that leads nowhere is listed as an image and refused when it is read.
    """
    folder = Path(root)
    if not folder.exists():
        raise UserError(f"the image folder {str(folder)!r} does not exist")
    if not folder.is_dir():
        raise UserError(f"{str(folder)!r} is a file; give the folder that holds the images")
    search = FolderSearch(folder)
    if not search.names:
        others = Counter(posixpath.splitext(name)[1].lower() or "no ending" for name in search.others)
        seen = ", ".join(f"{count} × {suffix}" for suffix, count in others.most_common(3))
        raise UserError(
            f"there are no images in {str(folder)!r} ({f'only {seen}' if seen else 'it is empty'}); "
            "expected files such as .jpg, .png, .tif or .webp"
        )
    return ImageFiles(folder, tuple(sorted(search.names)), search.skipped, frozenset(search.leads_out))


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


def _given_paths(paths: Sequence[str | os.PathLike[str]]) -> ImageFiles:
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
