"""How many classes a collection has, estimated from the untrained features of its images."""

from dataclasses import replace
from typing import Any

import numpy as np

from legogcd.clustering.how_many.choice import PUBLISHED, Estimate, estimate_classes
from legogcd.collection import UNLABELLED
from legogcd.display import Quiet
from legogcd.run.job import Job, Prepared, prepare
from legogcd.training.draw import clustering_images


def estimate_job_classes(job: Job, display: Quiet, approach: str | None = None, most: int | None = None) -> Estimate:
    """An estimate for a job's collection, with an interval and the curve it was read from."""
    return _estimate(prepare(job, display), display, approach, most)


def with_estimated_classes(job: Job, display: Quiet) -> tuple[Job, Prepared | None, Estimate | None]:
    """The job with its number of classes, estimated where that is asked for; what was prepared and found for that."""
    if job.options.n_classes != "auto":
        return job, None, None
    prepared = prepare(job, display)
    found = _estimate(prepared, display)
    counted = with_estimate(job, found)
    return counted, replace(prepared, job=counted), found


def _estimate(prepared: Prepared, display: Quiet, approach: str | None = None, most: int | None = None) -> Estimate:
    job = prepared.job
    display.note("estimating how many categories there are")
    collection, seed = prepared.collection, job.options.seed
    labels = _without_gaps(collection.labels)
    chosen = np.arange(len(labels)) if approach == PUBLISHED else clustering_images(labels, seed)
    given: dict[str, Any] = {} if approach is None else {"approach": approach}
    found = estimate_classes(prepared.directions(chosen), labels[chosen], most=most, seed=seed, **given)
    return replace(found, classes=max(found.classes, collection.n_known), high=max(found.high, collection.n_known))


def with_estimate(job: Job, found: Estimate) -> Job:
    """The job with its number of classes as it was estimated."""
    return replace(job.changed(n_classes=found.classes), estimated=(found.low, found.high))


def _without_gaps(labels: np.ndarray) -> np.ndarray:
    """The labels [N] renumbered: a class that is known by name alone says nothing here."""
    present = np.unique(labels[labels >= 0])
    return np.where(labels >= 0, np.searchsorted(present, labels), UNLABELLED).astype(np.int64)
