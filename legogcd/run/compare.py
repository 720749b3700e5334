"""Several methods on one collection: the same kept views, one table; only the method differs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from legogcd.collection import Truth
from legogcd.display import Quiet, Screen
from legogcd.evaluation.results import Result, ResultBook, settings_text, spread
from legogcd.files import slug, write_text
from legogcd.run.arguments import check_methods, options_of, settings_of
from legogcd.run.job import Job, prepare
from legogcd.run.own_process import in_own_process
from legogcd.run.scored import scored_run
from legogcd.wording import human_bytes

RESULTS, TABLE, PICTURE = "results.csv", "table.md", "comparison.png"
_SCORES = ("all", "old", "new", "forgetting")


@dataclass(frozen=True)
class Comparison:
    """Methods and seeds to run on a job's collection; the job's options hold all that they share."""

    job: Job
    truth: Truth
    methods: Sequence[str]
    seeds: Sequence[int]

    def __post_init__(self) -> None:
        check_methods(self.methods, self.job.options)

    def job_of(self, method: str, seed: int) -> Job:
        """The job of one run; a method takes of the settings those it has."""
        return replace(self.job, options=options_of(self.job.options, method).changed(seed=seed))

    def changed_by(self, job: Job) -> str:
        """What a run changes of its method's recipe, in one line; the number of epochs is told apart."""
        return settings_text({name: value for name, value in job.options.settings.items() if name != "epochs"})

    @property
    def setup(self) -> str:
        """One line: what all runs share."""
        options, protocol = self.job.options, self.job.options.protocol
        backbone = Path(protocol.backbone).name if Path(protocol.backbone).exists() else protocol.backbone
        kept = "fresh views" if protocol.views == "fresh" else f"{protocol.views} kept views"
        size = f"{options.image_size} px"
        n_known = f"{self.job.collection.n_known} of {self.job.n_classes} classes known"
        return ", ".join([backbone, size, kept, f"recipe {options.recipe}", n_known])


def run_comparison(comparison: Comparison, out: Path, display: Quiet, prepared: bool = False) -> list[Result]:
    """Run what ``out`` does not have yet, each run in a process of its own; leave the table there.

    ``prepared``: the views are kept already.
    """
    runs = [(method, seed) for seed in comparison.seeds for method in comparison.methods]
    jobs = [comparison.job_of(*run) for run in runs]
    book = ResultBook(out / RESULTS)
    wanted = [_key(comparison, job) for job in jobs]
    if not prepared:
        prepare(jobs[0], display)  # the kept views are made once, and in nobody's time
    for number, (job, key) in enumerate(zip(jobs, wanted, strict=True), start=1):
        if book.find(**key):
            continue
        display.note(f"run {number} of {len(runs)}: {job.method}, seed {job.options.seed}")
        how = slug(f"{job.options.recipe} {settings_text(settings_of(comparison.job.options))}")
        folder = out / "runs" / how / slug(f"{job.method} seed {job.options.seed}")
        result, memory = in_own_process(_run, job, comparison.truth, key, folder, isinstance(display, Screen))
        book.add(result.model_copy(update={"peak_memory": memory}))
    results = [result for key in wanted for result in book.find(**key)]
    write_text(out / TABLE, table(results))
    return results


def table(results: Sequence[Result]) -> str:
    """Mean ± sample standard deviation over seeds, one line per method, as Markdown."""
    heads = ("method", "epochs", "seeds", "All", "Old", "New", "forgetting of Old", "seconds", "memory")
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *_rows(results))]
    return "\n".join([lines[0], f"|---|{'--:|' * (len(heads) - 1)}", *lines[1:]]) + "\n"


def screen_table(results: Sequence[Result]) -> str:
    """The same for a terminal of 80 columns, without the numbers of epochs and seeds."""
    heads = ("method", "All", "Old", "New", "forgot", "seconds", "memory")
    rows = [heads, *((method, *cells) for method, _, _, *cells in _rows(results))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ([cell.rjust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    return "".join(
        f"{'  '.join([row[0].ljust(widths[0]), *cells[1:]])}\n" for row, cells in zip(rows, lines, strict=True)
    )


def _rows(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    for method in dict.fromkeys(result.method for result in results):
        rows = [result for result in results if result.method == method]
        scores = [str(spread(getattr(row, name) for row in rows) or "–") for name in _SCORES]
        seconds = spread(row.seconds for row in rows)
        memory = max((row.peak_memory or 0 for row in rows), default=0)
        cells = [method, str(rows[0].epochs), str(len(rows)), *scores, f"{seconds.mean:.0f}" if seconds else "–"]
        yield *cells, human_bytes(memory)


def _key(comparison: Comparison, job: Job) -> dict[str, Any]:
    return {
        "dataset": job.name,
        "method": job.method,
        "seed": job.options.seed,
        "setup": comparison.setup,
        "settings": comparison.changed_by(job),
        "epochs": job.recipe.epochs,
    }


def _run(job: Job, truth: Truth, key: dict[str, Any], folder: Path, shown: bool) -> Result:
    return scored_run(job, truth, key, folder, Screen(notes=False) if shown else Quiet())[0]
