"""How many classes a collection has, estimated from the untrained features of its images."""

from typing import Any

from legogcd.clustering.how_many.choice import Estimate, estimate_classes
from legogcd.display import Quiet
from legogcd.run.job import Job, prepare
from legogcd.training.draw import clustering_images


def estimate_job_classes(job: Job, display: Quiet, approach: str | None = None, most: int | None = None) -> Estimate:
    """An estimate for a job's collection, with an interval and the curve it was read from."""
    prepared = prepare(job, display)
    display.note("estimating the number of classes")
    labels, seed = prepared.collection.labels, job.options.seed
    chosen = clustering_images(labels, seed)
    given: dict[str, Any] = {} if approach is None else {"approach": approach}
    return estimate_classes(prepared.directions(chosen), labels[chosen], most=most, seed=seed, **given)
