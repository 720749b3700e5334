"""``--effort auto``: thorough where the labels say that the categories are hard to tell apart, else normal."""

from collections.abc import Callable

import numpy as np

from legogcd.clustering import directions
from legogcd.run.effort import AUTO_EFFORT, BUILT_IN, HARD, EffortName
from legogcd.run.found_again import found_again
from legogcd.run.job import Job
from legogcd.run.runtime import open_runtime
from legogcd.vision.backbones import load_backbone
from legogcd.vision.features import features, stacked, streamed_states
from legogcd.vision.views.encode import Encoder
from legogcd.wording import percent

Note = Callable[[str], None]

ENOUGH = 20  # labelled images of categories that have two or more, to tell
_MOST_IMAGES = 2_000  # labelled images that are looked at


def with_chosen_effort(job: Job, note: Note) -> Job:
    """The job with an effort's name where its options say ``auto``; labelled images are looked at, nothing is kept."""
    if job.options.effort != AUTO_EFFORT:
        return job
    chosen, reason = _chosen(job, note)
    note(f"effort: {chosen}, {reason}")
    return job.changed(effort=chosen)


def _chosen(job: Job, note: Note) -> tuple[EffortName, str]:
    if job.options.backbone is not None:
        return "normal", "as a backbone is named"
    rows = looked_at(job.collection.labels, job.options.seed)
    if len(rows) < ENOUGH:
        return "normal", "as too few images are labelled to say how hard the categories are to tell apart"
    note(f"looking at {len(rows)} labelled images, to choose the effort")
    found = share_found_again(job, rows)
    alike = f"{percent(found)} % of the labelled images look most like their own category"
    if found < HARD:
        return "thorough", f"as only {alike}: three networks will look at all"
    return "normal", f"as {alike}"


def looked_at(labels: np.ndarray, seed: int) -> np.ndarray:
    """Rows of labelled images [n] of categories that have two or more: of each as many as of the next, as far as there
    are."""
    random = np.random.default_rng(seed)
    rows = random.permutation(np.flatnonzero(labels >= 0))
    rows = rows[np.argsort(labels[rows], kind="stable")]
    counts = np.bincount(labels[rows], minlength=1)
    turn = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)  # its place in its category
    order = np.argsort(turn, kind="stable")
    chosen = rows[order[counts[labels[rows[order]]] > 1]][:_MOST_IMAGES]
    return np.sort(chosen[np.bincount(labels[chosen], minlength=1)[labels[chosen]] > 1])


def share_found_again(job: Job, rows: np.ndarray) -> float:
    """Which share of the images at some rows is nearest to its own category, by untrained features; 1 if none opens."""
    options = job.options
    runtime = open_runtime(options.device, options.protocol.precision, options.threads)
    backbone = load_backbone(BUILT_IN, image_size=options.image_size).to(runtime.device)
    full = options.protocol.decode == "full"
    encoder = Encoder(backbone, runtime.device, runtime.precision, full_decode=full)
    states = streamed_states(encoder, job.collection.images.subset(rows), options.protocol.kept_dtype)
    batches = [batch for batch in features(backbone.tail, states, runtime) if batch.rows]
    readable = rows[[row for batch in batches for row in batch.rows]]
    points = stacked((batch.features for batch in batches), len(readable))
    return found_again(directions(points), job.collection.labels[readable]) if len(readable) else 1.0
