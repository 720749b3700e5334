"""How many classes a collection has, estimated from the untrained features of its images."""

from dataclasses import replace
from typing import Any

import numpy as np

from legogcd.clustering.how_many.choice import PUBLISHED, Estimate, estimate_classes
from legogcd.collection import UNLABELLED
from legogcd.display import Quiet
from legogcd.run.job import Job, prepare
from legogcd.training.draw import clustering_images


def estimate_job_classes(job: Job, display: Quiet, approach: str | None = None, most: int | None = None) -> Estimate:
    """An estimate for a job's collection, with an interval and the curve it was read from."""
    prepared = prepare(job, display)
    display.note("estimating the number of classes")
    collection, seed = prepared.collection, job.options.seed
    labels = _without_gaps(collection.labels)
    chosen = np.arange(len(labels)) if approach == PUBLISHED else clustering_images(labels, seed)
    given: dict[str, Any] = {} if approach is None else {"approach": approach}
    found = estimate_classes(prepared.directions(chosen), labels[chosen], most=most, seed=seed, **given)
    return replace(found, classes=max(found.classes, collection.n_known), high=max(found.high, collection.n_known))


def _without_gaps(labels: np.ndarray) -> np.ndarray:
    """The labels [N] renumbered: a class that is known by name alone says nothing here."""
    present = np.unique(labels[labels >= 0])
    return np.where(labels >= 0, np.searchsorted(present, labels), UNLABELLED).astype(np.int64)
