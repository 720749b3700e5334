"""Everything in a run folder or in a cache compared with its checksums."""

from pathlib import Path

from legogcd.display import Quiet
from legogcd.errors import DamagedFileError, UserError
from legogcd.run.figure_sample import SAMPLE
from legogcd.run.folder import CONFIG, MANIFEST, MODEL
from legogcd.run.manifest import damaged_files, read_manifest
from legogcd.training.checkpoint import load_tensors
from legogcd.vision.views.kept import DamagedViews, read_layout
from legogcd.vision.views.store import check_kept
from legogcd.wording import counted

_KEPT = "views-*"


def check_folder(folder: Path, display: Quiet) -> tuple[str, list[str]]:
    """What was checked, in words, and what is damaged."""
    if (folder / CONFIG).exists() or (folder / MANIFEST).exists():
        return _check_run(folder)
    kept = [folder] if folder.match(_KEPT) else sorted(path for path in folder.glob(_KEPT) if path.is_dir())
    if not kept:
        raise UserError(f"{folder} holds neither a run nor kept views")
    return counted(len(kept), "folder") + " of kept views", [
        line for each in kept for line in _check_kept(each, display)
    ]


def _check_run(folder: Path) -> tuple[str, list[str]]:
    if not (folder / MANIFEST).exists():
        raise UserError(f"{folder} does not hold a finished run: {MANIFEST} is missing; go on with --resume")
    files = read_manifest(folder)
    damaged = damaged_files(folder)
    for name in (MODEL, SAMPLE):
        if (folder / name).exists() and name not in damaged:
            try:
                load_tensors(folder / name)
            except DamagedFileError:
                damaged.append(name)
    return counted(len(files), "file"), [str(folder / name) for name in damaged]


def _check_kept(folder: Path, display: Quiet) -> list[str]:
    try:
        with display.counting(f"checking {folder.name}", read_layout(folder).n_images) as progress:
            damaged = check_kept(folder, progress)
    except DamagedViews as problem:
        return [str(problem)]
    return [str(shard.data(folder)) for shard in damaged]
