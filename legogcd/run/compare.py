"""Several methods on one collection: the same kept views, one table, one picture; only the method differs."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from legogcd.collection import Truth
from legogcd.display import Quiet, Screen
from legogcd.errors import UserError
from legogcd.evaluation import forgetting, scoring
from legogcd.evaluation.results import Result, ResultBook, settings_text, spread
from legogcd.files import slug, write_text
from legogcd.methods import Recipe, check_method, choose_recipe, method_entry
from legogcd.report import draw_comparison
from legogcd.run import Job, discover, prepare
from legogcd.run.figure_sample import keep_sample
from legogcd.run.own_process import apart
from legogcd.version import __version__
from legogcd.wording import human_bytes

RESULTS, TABLE, PICTURE = "results.csv", "table.md", "comparison.png"
_SCORES = ("all", "old", "new", "forgetting")


@dataclass(frozen=True)
class Comparison:
    """Methods and seeds to run on a job's collection; ``job`` holds all that they share."""

    job: Job
    truth: Truth
    methods: Sequence[str]
    seeds: Sequence[int]
    recipe: str = "default"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unused = [name for name in self.settings if not any(name in _fields(method) for method in self.methods)]
        if unused:
            raise UserError(f"setting {unused[0]!r} belongs to none of the methods {', '.join(self.methods)}")

    def job_of(self, method: str, seed: int) -> Job:
        """The job of one run; a method takes of the settings those it has."""
        own = {name: value for name, value in self.settings.items() if name in _fields(method)}
        recipe = choose_recipe(self.recipe, method, self.job.backbone, own)
        return replace(self.job, method=check_method(method), recipe=recipe, seed=seed)

    @property
    def setup(self) -> str:
        """One line: what all runs share."""
        views = self.job.keeping.views
        backbone = Path(self.job.backbone).name if Path(self.job.backbone).exists() else self.job.backbone
        kept = "fresh views" if views == "fresh" else f"{views} kept views"
        size = f"{self.job.image_size} px"
        n_known = f"{self.job.collection.n_known} of {self.job.n_classes} classes known"
        return ", ".join([backbone, size, kept, f"recipe {self.recipe}", n_known])


def _fields(method: str) -> Mapping[str, Any]:
    return method_entry(method).recipe.model_fields


def run_comparison(comparison: Comparison, out: Path, display: Quiet) -> list[Result]:
    """Run what ``out`` does not have yet, each run in a process of its own; leave table and picture there."""
    runs = [(method, seed) for seed in comparison.seeds for method in comparison.methods]
    jobs = {run: comparison.job_of(*run) for run in runs}  # a wrong name or setting is said before anything long
    book = ResultBook(out / RESULTS)
    wanted = [_key(comparison, jobs[run]) for run in runs]
    prepare(jobs[runs[0]], display)  # the kept views are made once, and in nobody's time
    for number, (run, key) in enumerate(zip(runs, wanted, strict=True), start=1):
        if book.find(**key):
            continue
        display.note(f"run {number} of {len(runs)}: {run[0]}, seed {run[1]}")
        how = slug(f"{comparison.recipe} {settings_text(comparison.settings)}")
        folder = out / "runs" / how / f"{jobs[run].method}-seed-{run[1]}"
        result, memory = apart(_run, jobs[run], comparison.truth, key, folder, isinstance(display, Screen))
        book.add(result.model_copy(update={"peak_memory": memory}))
    results = [result for key in wanted for result in book.find(**key)]
    write_text(out / TABLE, table(results))
    draw_comparison(results, out / PICTURE, f"{comparison.job.name}: {comparison.setup}")
    return results


def table(results: Sequence[Result]) -> str:
    """Mean ± sample standard deviation over seeds, a line a method, as Markdown."""
    lines = [
        "| method | epochs | seeds | All | Old | New | forgetting of Old | seconds | memory |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for method in dict.fromkeys(result.method for result in results):
        rows = [result for result in results if result.method == method]
        scores = [str(spread(getattr(row, name) for row in rows) or "–") for name in _SCORES]
        seconds = spread(row.seconds for row in rows)
        memory = max((row.peak_memory or 0 for row in rows), default=0)
        cells = [method, str(rows[0].epochs), str(len(rows)), *scores, f"{seconds.mean:.0f}" if seconds else "–"]
        lines.append(f"| {' | '.join(cells)} | {human_bytes(memory)} |")
    return "\n".join(lines) + "\n"


def _key(comparison: Comparison, job: Job) -> dict[str, Any]:
    return {
        "dataset": job.name,
        "method": job.method,
        "seed": job.seed,
        "setup": comparison.setup,
        "settings": settings_text(_changed(job.recipe, comparison)),
        "epochs": job.recipe.epochs,
    }


def _changed(recipe: Recipe, comparison: Comparison) -> dict[str, Any]:
    own = type(recipe).model_fields
    return {name: value for name, value in comparison.settings.items() if name in own and name != "epochs"}


def _run(job: Job, truth: Truth, key: dict[str, Any], folder: Path, shown: bool) -> Result:
    began = time.monotonic()
    outcome = discover(job, folder, score=scoring(truth), resume=True, display=Screen() if shown else Quiet())
    seconds = time.monotonic() - began
    keep_sample(outcome, job.collection, truth, folder)
    last = outcome.metrics[-1]
    return Result(
        **key,
        images=len(outcome.discovery.names),
        **{name: last[name] for name in ("all", "old", "new", "nmi", "ari")},
        forgetting=forgetting([entry["old"] for entry in outcome.metrics if entry.get("old") is not None]),
        seconds=round(seconds, 1),
        version=__version__,
    )
