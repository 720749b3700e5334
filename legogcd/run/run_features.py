"""Trained features of a finished run's images: from the views it kept, or encoded again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from legogcd.collection import ImageFiles, find_images
from legogcd.collection.group_names import class_names
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.run.config import RunConfig
from legogcd.run.model import Model
from legogcd.vision.features import stacked, stored_states
from legogcd.vision.views.kept import Keeping, KeptViews, kept_already
from legogcd.vision.views.opening import KeepingRules

_COMPARED = 512  # images that show whose views they are
_AGREEMENT = 0.99  # of their predictions must be those of the run; other hardware may change a few
_ROUNDING = 0.02  # of their confidence


@dataclass(frozen=True, eq=False)
class RunFeatures:
    """Features [n, D] of the images of a run that can be had, in the order of predictions.csv, and the other images."""

    features: np.ndarray
    unreadable: dict[str, str] = field(default_factory=dict)  # name and reason


def run_features(
    model: Model,
    config: RunConfig,
    files: ImageFiles,
    table: pd.DataFrame,
    cache: Path | None = None,
    display: Quiet | None = None,
) -> RunFeatures:
    """Features of a run's images ``files``, which are the rows of ``table``, its predictions.csv.

    Views that the run kept serve as long as they are there, whatever became of the images.
    """
    display = display or Quiet()
    found = _KeptSearch(model, config, files, KeepingRules(cache=cache).folder).found(table)
    if found is None:
        return _encoded(model, files, display)
    kept, rows = found
    display.note(f"using kept views in {kept.folder}")
    return RunFeatures(_stored(model, kept, rows))


def _stored(model: Model, kept: KeptViews, rows: torch.Tensor) -> np.ndarray:
    states = stored_states(kept, rows, model.runtime.device)
    return stacked(batch.features for batch in model.features(states))


def _encoded(model: Model, files: ImageFiles, display: Quiet) -> RunFeatures:
    batches: list[torch.Tensor] = []
    unreadable: dict[str, str] = {}
    done = 0
    with display.counting("encoding images", len(files)) as progress:
        for batch in model.batches(files):
            unreadable |= {files.names[row]: reason for row, reason in batch.unreadable.items()}
            if batch.rows:
                batches.append(batch.features)
            done += len(batch.rows) + len(batch.unreadable)
            progress(done)
    return RunFeatures(stacked(batches) if batches else np.zeros((0, model.backbone.dim), np.float32), unreadable)


@dataclass(frozen=True)
class _KeptSearch:
    """The views a run kept, in a cache."""

    model: Model
    config: RunConfig
    files: ImageFiles
    cache: Path

    def found(self, table: pd.DataFrame) -> tuple[KeptViews, torch.Tensor] | None:
        """The run's kept views and the rows its images have in them, if the cache still holds them."""
        for kept, rows in self._unchanged():
            return kept, rows
        for kept, rows in self._of_changed_folder():
            if self._gives_again(kept, rows, table):
                return kept, rows
        return None

    def _gives_again(self, kept: KeptViews, rows: torch.Tensor, table: pd.DataFrame) -> bool:
        """Whether views of some images give what the run predicted of its own: then they are the same images."""
        chosen = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _COMPARED)).astype(int))
        probabilities = self.model.classify_array(_stored(self.model, kept, rows[chosen]))
        names = np.array(class_names(self.model.known, self.model.n_classes), dtype=object)
        then = table.iloc[chosen]
        same = names[probabilities.argmax(1)] == then["predicted"].to_numpy()
        same &= np.abs(probabilities.max(1) - then["confidence"].to_numpy()) <= _ROUNDING
        return bool(same.mean() >= _AGREEMENT)

    def _request(self, images: ImageFiles, views: int) -> Keeping:
        seed = self.config.options.view_options().seed
        return Keeping(self.model.encoder, images, views, seed, self.model.kept_dtype)

    def _unchanged(self) -> Iterator[tuple[KeptViews, torch.Tensor]]:
        """Views of the image folder as it is now."""
        try:
            everything = find_images(self.files.root)
        except UserError:  # no image is left
            return
        place = {name: row for row, name in enumerate(everything.names)}
        if not all(name in place for name in self.files.names):
            return
        views = self.config.options.views
        for count in dict.fromkeys((0 if views == "fresh" else views, 0)):
            kept = kept_already(self._request(everything, count), self.cache)
            if kept is not None:
                yield kept, torch.tensor([place[name] for name in self.files.names])

    def _of_changed_folder(self) -> Iterator[tuple[KeptViews, torch.Tensor]]:
        """Views of as many images as the run had, made the same way: files that are gone since cannot be compared."""
        then = sorted({*self.files.names, *self.config.images.unreadable})
        place = {name: row for row, name in enumerate(then)}
        rows = torch.tensor([place[name] for name in self.files.names])
        wanted = self._request(ImageFiles(self.files.root, tuple(then)), 0).manifest
        for path in sorted(self.cache.glob("views-*/manifest.json")):
            if not _same_but_for_images(_read_manifest(path), wanted):
                continue
            try:
                kept = KeptViews(path.parent, 0)
            except (OSError, ValueError, KeyError, UserError):  # damaged ones are no help
                continue
            if not kept.unreadable.keys() & set(rows.tolist()):
                yield kept, rows


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _same_but_for_images(manifest: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether views were made of as many images, by the same backbone in the same way."""
    as_written = json.loads(json.dumps(wanted))
    return all(manifest.get(name) == as_written[name] for name in wanted.keys() - {"images", "views"})
