"""Which files of a folder are images, why the others are not, and which path a name below a folder means."""

import os
import posixpath
import stat
from importlib.util import find_spec
from pathlib import Path, PureWindowsPath

from legogcd.errors import UserError
from legogcd.wording import printable

_PHOTOS = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".webp", ".avif", ".heic", ".heif", ".hif", ".jp2", ".j2k")
_SCANS = (".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".pnm")
_RAW = ".dng .cr2 .cr3 .crw .nef .nrw .arw .srf .sr2 .raf .orf .rw2 .pef .srw .3fr .erf .kdc .mos .mrw .x3f"
RAW_SUFFIXES = frozenset(_RAW.split())
"""Endings of what cameras write before they make a picture of it."""

SUFFIXES = frozenset(_PHOTOS + _SCANS) | RAW_SUFFIXES
"""File name endings taken for images, in lower case; what the file really holds is found when it is read."""

NO_RAW_READER = "camera raw (to read it: pip install rawpy)"
NOT_AN_IMAGE = "not an image"
_RUN_FILES = {"config.json", "metrics.jsonl"}  # what a run folder has from its first epoch on
_KINDS = {
    stat.S_IFIFO: "not a regular file (a pipe)",
    stat.S_IFSOCK: "not a regular file (a socket)",
    stat.S_IFBLK: "not a regular file (a device)",
    stat.S_IFCHR: "not a regular file (a device)",
}


def is_image_name(name: str) -> bool:
    return posixpath.splitext(name)[1].lower() in SUFFIXES


def is_raw_name(name: str) -> bool:
    return posixpath.splitext(name)[1].lower() in RAW_SUFFIXES


class FolderSearch:
    """The image files below ``root`` as POSIX ``names``, the reasons why others were ``skipped``, by name, and the
    ``names`` that a link takes out of ``root`` (``leads_out``). No file is opened.
    """

    def __init__(self, root: Path) -> None:
        self.names: list[str] = []
        self.skipped: dict[str, str] = {}
        self.leads_out: set[str] = set()
        self._root = os.path.realpath(root)
        try:
            self._folder(root, "", frozenset())
        except OSError as error:
            raise UserError(f"cannot read the folder {str(root)!r}: {error.strerror}") from None

    @property
    def others(self) -> list[str]:
        """The files that are no images by their names."""
        return [name for name, reason in self.skipped.items() if reason == NOT_AN_IMAGE]

    def _folder(self, folder: Path, prefix: str, above: frozenset[tuple[int, int]]) -> None:
        status = folder.stat()
        here = (status.st_dev, status.st_ino)
        if here in above:
            self.skipped[prefix] = "link in a circle (to a folder it is in)"
            return
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        if {entry.name for entry in entries} >= _RUN_FILES:
            self.skipped[prefix or "./"] = "run folder"  # an earlier run's pictures are not part of the collection
            return
        developed = _developed({entry.name for entry in entries})
        for entry in entries:
            name = prefix + entry.name
            try:
                if entry.name in developed:  # a camera that writes both means one photo
                    self.skipped[name] = f"camera raw of a picture beside it ({developed[entry.name]})"
                else:
                    self._entry(entry, name, above | {here})
            except OSError as error:
                self.skipped[name] = _reason(error, entry)

    def _entry(self, entry: "os.DirEntry[str]", name: str, above: frozenset[tuple[int, int]]) -> None:
        if entry.name.startswith("."):
            self.skipped[name] = "hidden"
        elif entry.is_dir():
            self._sub_folder(Path(entry.path), name, above)
        elif not is_image_name(name):
            self.skipped[name] = NOT_AN_IMAGE
        elif is_raw_name(name) and not reads_raw():
            self.skipped[name] = NO_RAW_READER
        elif entry.is_file() or _is_broken_link(entry):  # a broken link is reported when it is read
            self._image(entry, name)
        else:
            self.skipped[name] = _KINDS.get(stat.S_IFMT(entry.stat().st_mode), "not a regular file")

    def _sub_folder(self, folder: Path, name: str, above: frozenset[tuple[int, int]]) -> None:
        found = len(self.names)
        try:
            self._folder(folder, f"{name}/", above)
        except PermissionError:
            self.skipped[f"{name}/"] = "permission denied"
        if is_image_name(name) and len(self.names) == found:
            self.skipped.setdefault(f"{name}/", "is a folder")

    def _image(self, entry: "os.DirEntry[str]", name: str) -> None:
        self.names.append(name)
        if entry.is_symlink() or "/" in name:  # a folder on the way may be a link
            real = os.path.realpath(entry.path)
            if os.path.commonpath((real, self._root)) != self._root:
                self.leads_out.add(name)


class OutsideError(UserError):
    """A name that does not stay below a folder; ``reason`` says why, without the name."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{printable(name)!r} {reason}")
        self.reason = reason


def inside(root: str | os.PathLike[str], name: str) -> Path:
    """The real path of ``name`` below ``root``; refused where it is absolute, goes up, or a link leads out.

    For names from files that somebody else wrote. It need not exist.
    """
    windows = PureWindowsPath(name)
    if not name or "\0" in name or posixpath.isabs(name) or windows.drive or windows.root:
        raise OutsideError(name, "is not a path below the image folder")
    if ".." in name.split("/") or ".." in windows.parts:
        raise OutsideError(name, "leads out of the image folder ('..')")
    top = os.path.realpath(root)
    try:
        real = os.path.realpath(os.path.join(top, name))  # noqa: PTH118 - as text, so that nothing is tidied up
        os.lstat(real)
    except FileNotFoundError:
        pass
    except OSError as error:  # a name too long, a link in a circle, a file taken for a folder
        raise OutsideError(name, f"cannot be reached: {error.strerror}") from None
    if real == top or os.path.commonpath((real, top)) != top:
        raise OutsideError(name, f"leads out of the image folder (a link to {printable(real)!r})")
    if Path(real).is_symlink():
        raise OutsideError(name, "is a link in a circle")
    return Path(real)


def reads_raw() -> bool:
    """Whether a library that reads camera raw files is installed."""
    return find_spec("rawpy") is not None


def _developed(names: set[str]) -> dict[str, str]:
    """Camera raw files that have a picture of the same name beside them, with that name."""
    raw = [name for name in names if is_raw_name(name)]
    if not raw:
        return {}
    pictures = {
        posixpath.splitext(name)[0]: name for name in sorted(names) if is_image_name(name) and not is_raw_name(name)
    }
    stems = {name: posixpath.splitext(name)[0] for name in raw}
    return {name: pictures[stem] for name, stem in stems.items() if stem in pictures}


def _is_broken_link(entry: "os.DirEntry[str]") -> bool:
    if not entry.is_symlink():
        return False
    try:
        entry.stat()
    except FileNotFoundError:
        return True
    return False


def _reason(error: OSError, entry: "os.DirEntry[str]") -> str:
    if isinstance(error, PermissionError):
        return "permission denied"
    if isinstance(error, FileNotFoundError):
        return "file not found"
    if entry.is_symlink():
        return "link in a circle"
    return f"cannot be read ({error.strerror})"
