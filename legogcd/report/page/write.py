"""What the page needs of a run: handed over by one that has just ended, or computed again from its model."""

from pathlib import Path

from legogcd.collection import ImageFiles, Images
from legogcd.display import Quiet
from legogcd.errors import UserError
from legogcd.report.page.assemble import build_report
from legogcd.run.config import RunConfig, read_config
from legogcd.run.discovery import read_predictions
from legogcd.run.folder import REPORT
from legogcd.run.model import load_run
from legogcd.run.pipeline import MOST_HANDED_OVER, Outcome
from legogcd.run.run_features import run_features
from legogcd.wording import human_bytes


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
    features = run_features(model, config, files, cache, display)
    target = out or run / REPORT
    build_report(run, features, model.classify_array(features), files, target, display)
    return target


def report_outcome(outcome: Outcome, images: Images, run: Path, display: Quiet | None = None) -> Path | None:
    """Write the report of a run that has just ended into its folder; none of a collection too large for a page."""
    display = display or Quiet()
    if outcome.features is None:
        count = len(outcome.discovery.names)
        size = human_bytes(4 * count * outcome.model.backbone.dim)
        display.note(
            f"no report of more than {MOST_HANDED_OVER} images is made by itself: `legogcd report {run}` makes it "
            f"({size} of memory)"
        )
        return None
    features = outcome.features
    build_report(run, features, outcome.model.classify_array(features), images, run / REPORT, display)
    return run / REPORT


def _folder(config: RunConfig, images: Path | None) -> Path:
    root = images or config.images.root
    if root is None:
        raise UserError("the run's images were given from Python; say with --images in which folder they are")
    if not Path(root).is_dir():
        raise UserError(f"the image folder {str(root)!r} does not exist; say with --images where the images are now")
    return Path(root)
