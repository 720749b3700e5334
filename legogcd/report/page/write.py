"""What the page needs of a run: handed over by one that has just ended, or computed again from its model."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from legogcd.collection import Images
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.report.page.assemble import PageImages, build_report
from legogcd.report.page.sampling import sampled_rows
from legogcd.run.config import read_config
from legogcd.run.discovery import read_predictions
from legogcd.run.folder import REPORT
from legogcd.run.model import Model, load_run
from legogcd.run.pipeline import Outcome
from legogcd.run.run_features import run_features
from legogcd.run.trust import run_images
from legogcd.wording import left_out


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

    ``images`` says where the pictures are if they moved or the run was made elsewhere, ``backbone`` where the weights
    are. Images that cannot be read any more are named and left out, unless the run kept views of them.
    """
    display, table = display or Quiet(), read_predictions(run)
    config = read_config(run)
    files = run_images(run, config, images, table["path"].tolist())
    sample = sampled_rows(table["category"])
    model, config = load_run(run, backbone, device)
    found = run_features(model, config, files, cache, display, sample)
    files = files if sample is None else files.subset(sample)
    if not len(found.features):
        raise UserError(
            f"none of the run's images can be read in {files.root}; say with --images where they are now "
            f"({left_out(found.unreadable)})"
        )
    if found.unreadable:
        display.warn(left_out(found.unreadable))
    target, features = out or run / REPORT, found.features
    build_report(run, page_images(model, files, features, found.unreadable, sample), target, display)
    return target


def report_outcome(outcome: Outcome, images: Images, run: Path, display: Quiet | None = None) -> Path:
    """Write the report of a run that has just ended into its folder; of very many images, of a sample."""
    display = display or Quiet()
    features, sample = outcome.features, None
    if features is None:
        sample = sampled_rows(outcome.discovery.table()["category"], most=0)
        assert sample is not None
        assert outcome.features_at is not None
        features = outcome.features_at(sample)
        names = outcome.discovery.names
        place = {name: number for number, name in enumerate(images.names)}
        images = images.subset([place[names[row]] for row in sample])
    build_report(run, page_images(outcome.model, images, features, sample=sample), run / REPORT, display)
    return run / REPORT


def page_images(
    model: Model,
    files: Images,
    features: np.ndarray,
    unreadable: Mapping[str, str] | None = None,
    sample: np.ndarray | None = None,
) -> PageImages:
    """The images of a page, with what the model makes of their features [N, D]."""
    probabilities, strange = model.classify_array(features), model.strangeness_array(features)
    return PageImages(files, features, probabilities, unreadable or {}, strange, sample)
