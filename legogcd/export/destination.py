"""The place an export appears at: free before, whole after, untouched if anything goes wrong."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from legogcd.errors import UserError
from legogcd.export.format import Format


def check_destination(out: Path, chosen: Format, images: Path | None) -> None:
    """Refuse a place that is taken, that cannot be written to, or where the export would join the collection."""
    if is_the_file(out, chosen.single_file):
        if out.exists():
            raise UserError(f"--out {out} exists already; give another name")
    elif out.exists() and not out.is_dir():
        raise UserError(f"--out {out} is a file; give a folder that is new or empty")
    elif out.exists() and any(out.iterdir()):
        raise UserError(f"--out {out} is not empty; give a folder that is new or empty")
    parent = next(path for path in out.absolute().parents if path.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise UserError(f"cannot write to {parent}; give another --out")
    if chosen.places_images and images is not None and out.resolve().is_relative_to(images.resolve()):
        raise UserError(f"--out {out} is in the image folder: its images would be found twice; give a place outside it")


def is_the_file(out: Path, single_file: str | None) -> bool:
    """Whether --out names the only file of a format itself rather than a folder for it."""
    return single_file is not None and out.suffix.lower() == Path(single_file).suffix


@contextmanager
def made_at_once(out: Path, single_file: str | None) -> Iterator[Path]:
    """Yield a new folder beside ``out``; on success it, or its single file, becomes ``out`` in one step."""
    target = out.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    workshop = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".partial"))
    folder = workshop / "export"  # one deeper: the workshop is only its owner's, the export has the usual rights
    try:
        folder.mkdir()
        yield folder
        if is_the_file(out, single_file):
            (folder / str(single_file)).rename(target)
        else:
            if target.exists():
                target.rmdir()  # empty, or this fails
            folder.rename(target)
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
