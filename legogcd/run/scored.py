"""A job whose truth is known, as a row of results."""

import time
from pathlib import Path
from typing import Any

from legogcd.collection import Truth
from legogcd.display import Quiet
from legogcd.evaluation import scoring
from legogcd.evaluation.results import Result
from legogcd.run.evaluating import forgotten
from legogcd.run.figure_sample import keep_sample
from legogcd.run.job import Job
from legogcd.run.pipeline import Outcome, discover
from legogcd.version import __version__


def scored_run(job: Job, truth: Truth, key: dict[str, Any], folder: Path, display: Quiet) -> tuple[Result, Outcome]:
    """Train, or go on training, in ``folder``; ``key`` says which row of results it is."""
    began = time.monotonic()
    outcome = discover(job, folder, score=scoring(truth), resume=True, display=display)
    seconds = time.monotonic() - began
    keep_sample(outcome, job.collection, truth, folder)
    last = outcome.metrics[-1]
    result = Result(
        **key,
        images=len(outcome.discovery.names),
        **{name: last[name] for name in ("all", "old", "new", "nmi", "ari")},
        forgetting=forgotten(outcome.metrics),
        seconds=round(seconds, 1),
        version=__version__,
    )
    return result, outcome
