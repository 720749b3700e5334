"""What a run is: its options, the pipeline that makes one, the folder it lives in, and what can be done with it."""

from legogcd.run.pipeline import Job, Outcome, discover, prepare, sort_others
from legogcd.vision.views.opening import KeepingRules

__all__ = ["Job", "KeepingRules", "Outcome", "discover", "prepare", "sort_others"]
