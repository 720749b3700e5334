"""Trained features of a finished run's images: from the views it kept, or encoded again."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from legogcd.collection import Searched
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.run.config import RunConfig
from legogcd.run.model import Model
from legogcd.vision.features import stacked, stored_states
from legogcd.vision.views.kept import KeptViews
from legogcd.vision.views.opening import ViewStorage
from legogcd.vision.views.store import Progress

_FOLDER = re.compile(r"views-[0-9a-f]+")


@dataclass(frozen=True, eq=False)
class RunFeatures:
    """Features [n, D] of the images of a run that can be had, in the order of predictions.csv, and the other images."""

    features: np.ndarray
    unreadable: dict[str, str] = field(default_factory=dict)  # name and reason


def run_features(
    model: Model,
    config: RunConfig,
    files: Searched,
    cache: Path | None = None,
    display: Quiet | None = None,
    chosen: np.ndarray | None = None,
) -> RunFeatures:
    """Features of a run's images ``files``, in the order of its predictions.csv, or of those at ``chosen`` places.

    The views that the run kept serve as long as they are there, whatever became of the images.
    """
    display = display or Quiet()
    found = _kept(config, files.names, ViewStorage(cache=cache).folder, display.warn)
    if found is None:
        return _encoded(model, files if chosen is None else files.subset(chosen), display)
    kept, rows = found
    rows = rows if chosen is None else rows[torch.from_numpy(chosen)]
    display.note(f"using kept views in {kept.folder}")
    states = stored_states(kept, rows, model.runtime.device)
    return RunFeatures(stacked((batch.features for batch in model.features(states)), len(rows)))


def _encoded(model: Model, files: Searched, display: Quiet) -> RunFeatures:
    unreadable: dict[str, str] = {}

    def readable(progress: Progress) -> Iterator[torch.Tensor]:
        done = 0
        for batch in model.batches(files):
            unreadable.update({files.names[row]: reason for row, reason in batch.unreadable.items()})
            if batch.rows:
                yield batch.features
            done += len(batch.rows) + len(batch.unreadable)
            progress(done)

    with display.counting("encoding images", len(files)) as progress:
        found = stacked(readable(progress), len(files))
    return RunFeatures(found if len(found) else np.zeros((0, model.backbone.dim), np.float32), unreadable)


def _kept(
    config: RunConfig, names: Sequence[str], cache: Path, warn: Callable[[str], None]
) -> tuple[KeptViews, torch.Tensor] | None:
    """The run's kept views and the rows its images have in them, if the cache still holds them."""
    if not _FOLDER.fullmatch(config.kept_in) or not (cache / config.kept_in).is_dir():
        return None
    try:
        kept = KeptViews(cache / config.kept_in)
    except (UserError, OSError) as damage:
        warn(f"{damage}; encoding again")
        return None
    rows = [row for row in range(kept.n_images) if row not in kept.unreadable]
    if config.images.set_aside:
        in_order = sorted({*names, *config.images.set_aside})  # as the images of a folder are
        wanted = {*names} if len(in_order) == len(rows) else set()
        rows = [row for row, name in zip(rows, in_order, strict=False) if name in wanted]
    return (kept, torch.tensor(rows)) if len(rows) == len(names) else None
