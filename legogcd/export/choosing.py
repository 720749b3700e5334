"""Which images of a run an export is to hold, and which of them may be read."""

import os
from pathlib import Path

from legogcd.collection import as_url
from legogcd.collection.folder_search import inside, is_image_name
from legogcd.errors import UserError
from legogcd.export.image_headers import only_headers, stored_size
from legogcd.export.items import REJECTED, STATUSES, Include, Item, Selection
from legogcd.run.categories import current
from legogcd.run.config import RunConfig, read_config
from legogcd.run.discovery import COLUMNS
from legogcd.run.trust import trusted_root


def select(run: Path, images: Path | None, include: Include, needs_images: bool) -> Selection:
    """Read a run and choose the images to export; with ``needs_images`` those that cannot be read are set apart."""
    _check(include)
    config, table = read_config(run), current(run)
    root = _image_folder(run, config, images) if needs_images else _noted_folder(config, images)
    settled = (table["status"] == "labelled") | table["confirmed"].astype(bool)
    asked = table["status"].isin(list(include.only)) & (settled | (table["confidence"] >= include.min_confidence))
    aside = (table["status"] == REJECTED) & ~asked
    columns = [table.loc[asked, name].tolist() for name in COLUMNS]
    items, missing, refused = [], [], {}
    with only_headers():
        for name, category, status, confidence, predicted, own in zip(*columns, settled[asked].tolist(), strict=True):
            try:
                file = _image_file(root, name) if needs_images else _noted_file(root, name)
            except UserError as reason:
                refused[name] = str(reason)
                continue
            if file is None:
                missing.append(name)
            else:
                items.append(Item(name, file, category, status, float(confidence), predicted, own))
    return Selection(
        items=tuple(items),
        root=root,
        names=tuple(sorted(set(table.loc[~aside, "category"]))),
        model=f"legogcd {config.version}, {config.method}, seed {config.options.seed}",
        missing=tuple(missing),
        refused=refused,
        not_asked_for=int((~asked & ~aside).sum()),
        set_aside=int(aside.sum()),
    )


def _check(include: Include) -> None:
    statuses = (*STATUSES, REJECTED)
    unknown = sorted(set(include.only) - set(statuses))
    if unknown:
        raise UserError(f"--only {unknown[0]}: expected one of {', '.join(statuses)}")
    if not 0 <= include.min_confidence <= 1:
        raise UserError(f"--min-confidence {include.min_confidence}: expected a number from 0 to 1")


def _image_folder(run: Path, config: RunConfig, images: Path | None) -> Path:
    """The folder that images may be read from; absolute, so that links to them hold anywhere."""
    if as_url(images or config.images.root or ""):
        return trusted_root(run, config, images)  # which says why not
    noted = _noted_folder(config, images)
    if noted is None:
        raise UserError(f"{run} was made from arrays, not from image files; only --to csv can export it")
    if not noted.is_dir():
        raise UserError(f"the image folder {str(noted)!r} is not there; give the one the images are in with --images")
    return _absolute(trusted_root(run, config, images))


def _noted_folder(config: RunConfig, images: Path | None) -> Path | None:
    """The folder as it is written down; nothing may be read there yet."""
    folder = images or config.images.root
    return None if folder is None else _absolute(folder)


def _image_file(root: Path | None, name: str) -> Path | None:
    """The image called ``name``; None where there is none, UserError where it may not be read."""
    assert root is not None
    file = _below(root, name)
    if not is_image_name(name):
        raise UserError(f"{name!r} is not called like an image")
    return file if stored_size(file) is not None else None


def _below(root: Path, name: str) -> Path:
    """The path of ``name``, which must not leave ``root``, by links neither; the links in it stay."""
    if "\0" not in name:
        path = _noted_file(root, name)
        for top in (root, root.resolve()):
            if path.is_relative_to(top):
                relative = path.relative_to(top)
                inside(root, relative.as_posix())
                return root / relative
    raise UserError(f"{name!r} leads out of the image folder")


def _noted_file(root: Path | None, name: str) -> Path:
    return Path(os.path.normpath(os.path.join(root or "", name)))  # noqa: PTH118 (`..` goes, links stay)


def _absolute(folder: str | Path) -> Path:
    return Path(os.path.abspath(folder))  # noqa: PTH100 (`..` goes, links stay)
