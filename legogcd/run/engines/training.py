"""A run by the engine its options name: this process, or several of a Ray cluster that train as one."""

from functools import partial
from pathlib import Path

from legogcd.display import Quiet
from legogcd.run.folder import check_free
from legogcd.run.job import Job, Prepared, prepare
from legogcd.run.pipeline import Outcome, Score, discover


def discover_with_engine(
    job: Job,
    out: Path,
    *,
    score: Score | None = None,
    resume: bool = False,
    display: Quiet | None = None,
    prepared: Prepared | None = None,
) -> Outcome:
    """As `discover`; with Ray, the cluster encodes, and where there are ``workers``, so many processes of it train.

    A process that dies takes the others with it; Ray starts them again, and they go on from the run folder.
    """
    options, display = job.options, display or Quiet()
    if options.engine == "local" or options.workers == 1:
        return discover(job, out, score=score, resume=resume, display=display, prepared=prepared)
    from legogcd.run.engines.ray import joined, train_on_cluster

    if not resume:
        check_free(out)
    alone = job.changed(engine="local", threads=options.threads or 1)
    work = partial(_train, alone, out.absolute(), score)
    with joined(options.ray_address):  # once, for the views and the training
        gpu = (prepared or prepare(job, display)).runtime.device.type == "cuda"
        display.note(f"training in {options.workers} processes of the Ray cluster")
        train_on_cluster(work, options.ray_address, options.workers, gpu, out.absolute().parent)
    return discover(alone, out, score=score, resume=True, display=display)


def _train(job: Job, out: Path, score: Score | None) -> None:
    discover(job, out, score=score, resume=True)
