"""Trained features of a finished run's images: from the views it kept, or encoded again."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from legogcd.collection import ImageFiles, find_images
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.run.config import RunConfig
from legogcd.run.model import Model
from legogcd.vision.features import stacked, stored_states
from legogcd.vision.views.kept import KeptViews
from legogcd.vision.views.opening import ViewStorage
from legogcd.vision.views.request import ViewRequest
from legogcd.vision.views.store import find_kept


def run_features(
    model: Model, config: RunConfig, files: ImageFiles, cache: Path | None = None, display: Quiet | None = None
) -> np.ndarray:
    """Features [N, D] of a run's images."""
    display = display or Quiet()
    found = _kept(model, config, files, ViewStorage(cache=cache).folder, display.warn)
    if found is not None:
        kept, rows = found
        display.note(f"using kept views in {kept.folder}")
        states = stored_states(kept, rows, model.runtime.device)
        return stacked(batch.features for batch in model.features(states))
    batches, done = [], 0
    with display.counting("encoding images", len(files)) as progress:
        for batch in model.batches(files):
            for row, reason in batch.unreadable.items():
                raise UserError(f"{files.names[row]} cannot be read: {reason}")
            batches.append(batch.features)
            done += len(batch.rows)
            progress(done)
    return stacked(batches)


def _kept(
    model: Model, config: RunConfig, files: ImageFiles, cache: Path, warn: Callable[[str], None]
) -> tuple[KeptViews, torch.Tensor] | None:
    """The run's kept views and the rows its images have in them, if the cache still holds them."""
    everything = find_images(files.root)
    place = {name: row for row, name in enumerate(everything.names)}
    if not all(name in place for name in files.names):
        return None
    views = config.options.views
    seed = config.options.view_storage().seed
    for count in dict.fromkeys((0 if views == "fresh" else views, 0)):
        kept = find_kept(ViewRequest(model.encoder, everything, count, seed, model.kept_dtype), cache, warn)
        if kept is not None:
            return kept, torch.tensor([place[name] for name in files.names])
    return None
