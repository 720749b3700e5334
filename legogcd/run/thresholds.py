"""Below what confidence an image of a run counts as unsure, read without anything that computes."""

from pathlib import Path

from legogcd.errors import UserError
from legogcd.files import parse_json
from legogcd.run.folder import CALIBRATION, run_file
from legogcd.run.manifest import read_manifest

_EVEN = 0.5  # where nothing was held out, as `legogcd.evaluation.calibration` has it


def unsure_below(folder: Path) -> float:
    """The threshold in a run's calibration.json."""
    if not (folder / CALIBRATION).exists() and CALIBRATION not in read_manifest(folder):
        return _EVEN
    path = run_file(folder, CALIBRATION)
    try:
        threshold = float(parse_json(path.read_bytes()).get("threshold", _EVEN))
    except (AttributeError, TypeError, ValueError):
        threshold = -1
    if not 0 <= threshold <= 1:
        raise UserError(f"{path} is not a calibration this version can read")
    return threshold
