"""What a run is: its options, the pipeline that makes one, the folder it lives in, and what can be done with it."""

from legogcd.run.pipeline import Job, Outcome, discover, prepare, sort_others
from legogcd.vision.views.opening import ViewStorage

__all__ = ["Job", "Outcome", "ViewStorage", "discover", "prepare", "sort_others"]
