"""What the page needs of a finished run, computed again from its model: features and probabilities."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from legogcd.collection import ImageFiles, Images, find_images
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.report.page.assemble import build_report
from legogcd.run.folder import REPORT, read_config, read_predictions
from legogcd.run.model import Model, load_run
from legogcd.run.pipeline import Outcome
from legogcd.training.loop import Trainee
from legogcd.vision.views.encode import Encoder
from legogcd.vision.views.kept import KeptViews
from legogcd.vision.views.opening import ViewStorage
from legogcd.vision.views.request import ViewRequest
from legogcd.vision.views.store import find_kept
from legogcd.wording import human_bytes

MOST_AT_ONCE = 50_000  # images of which discover makes a report by itself
_TOGETHER = 4096  # images whose probabilities are computed at once


def report_run(
    run: Path,
    out: Path | None = None,
    *,
    images: Path | None = None,
    backbone: str | None = None,
    device: str = "auto",
    cache: Path | None = None,
    display: Quiet | None = None,
) -> Path:
    """Write the report of a finished run, by default into its folder, and return where it is.

    ``images`` says where the pictures are now if they moved, ``backbone`` where the weights are.
    """
    display = display or Quiet()
    names = tuple(read_predictions(run)["path"])
    files = ImageFiles(_folder(read_config(run), images), names)
    if not any(files.item(i).is_file() for i in range(len(files))):
        raise UserError(f"none of the run's images are in {files.root}; say with --images where they are now")
    model, config = load_run(run, backbone, device)
    features = _features(model, config, files, cache, display)
    target = out or run / REPORT
    build_report(run, features, _probabilities(model, features), files, target, display)
    return target


def report_outcome(outcome: Outcome, images: Images, run: Path, display: Quiet | None = None) -> Path | None:
    """Write the report of a run that has just ended into its folder; none of a collection too large for a page."""
    display, count = display or Quiet(), len(outcome.discovery.names)
    if count > MOST_AT_ONCE:
        size = human_bytes(4 * count * outcome.model.backbone.dim)
        display.note(
            f"no report of {count} images is made by itself: `legogcd report {run}` makes it ({size} of memory)"
        )
        return None
    assert outcome.features is not None
    features = outcome.features(None)
    build_report(run, features, _probabilities(outcome.model, features), images, run / REPORT, display)
    return run / REPORT


def _probabilities(model: Model, features: np.ndarray) -> np.ndarray:
    parts = np.array_split(features, range(_TOGETHER, len(features), _TOGETHER))
    return np.concatenate([model.classify(torch.from_numpy(part).to(model.runtime.device)) for part in parts])


def _folder(config: dict[str, Any], images: Path | None) -> Path:
    root = images or config.get("images", {}).get("root")
    if root is None:
        raise UserError("the run's images were given from Python; say with --images in which folder they are")
    if not Path(root).is_dir():
        raise UserError(f"the image folder {str(root)!r} does not exist; say with --images where the images are now")
    return Path(root)


def _features(
    model: Model, config: dict[str, Any], files: ImageFiles, cache: Path | None, display: Quiet
) -> np.ndarray:
    """Trained features [N, D] of a run's images: from the views it kept, or encoded again."""
    found = _kept(model, config, files, ViewStorage(cache=cache).folder)
    if found is not None:
        kept, rows = found
        display.note(f"using kept views in {kept.folder}")
        labels = torch.full_like(rows, -1)
        return Trainee(kept, rows, labels, model.backbone.tail, model.method, model.runtime).features()
    batches, done = [], 0
    with display.counting("encoding images", len(files)) as progress:
        for batch in model.features(files):
            batches.append(batch.cpu())
            done += len(batch)
            progress(done)
    return torch.cat(batches).numpy()


def _kept(
    model: Model, config: dict[str, Any], files: ImageFiles, cache: Path
) -> tuple[KeptViews, torch.Tensor] | None:
    """The run's kept views and the rows its images have in them, if the cache still holds them."""
    everything = find_images(files.root)
    place = {name: row for row, name in enumerate(everything.names)}
    if not all(name in place for name in files.names):
        return None
    encoder = Encoder(model.backbone, model.runtime.device, model.runtime.precision)
    views = config["views"]["kept"]
    for count in dict.fromkeys((0 if views == "fresh" else views, 0)):
        kept = find_kept(ViewRequest(encoder, everything, count, config["views"]["seed"], model.kept_dtype), cache)
        if kept is not None:
            return kept, torch.tensor([place[name] for name in files.names])
    return None
