"""The loop, its schedules and checkpoints, and the one pipeline that everything else calls."""

from legogcd.training.pipeline import Job, Outcome, discover, prepare, sort_others
from legogcd.training.views import KeepingRules

__all__ = ["Job", "KeepingRules", "Outcome", "discover", "prepare", "sort_others"]
