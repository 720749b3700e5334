"""Sort a collection, fill the cache for it, score what came out."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from legogcd import launched
from legogcd.cli import options as o
from legogcd.cli.asking import may_download
from legogcd.cli.classes import with_estimated_classes
from legogcd.cli.phases import seconds_since_start, tell_phases
from legogcd.cli.volume import display as show
from legogcd.cli.volume import say
from legogcd.run.options import LabelOptions, RunOptions

if TYPE_CHECKING:
    from legogcd.evaluation.calibration import Calibration
    from legogcd.run import Job, Outcome


@o.spelled_out
def discover(
    images: o.Images,
    out: Annotated[Path, typer.Option(help="Folder for the run; must not hold one yet.")],
    labels: LabelOptions,
    options: RunOptions,
    from_run: Annotated[
        Path | None,
        typer.Option("--from", metavar="RUN", help="Start from the labels given to RUN and those confirmed in it."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with an interrupted run in --out; with --engine ray it does so by itself."
        ),
    ] = False,
    report: Annotated[bool, typer.Option(help="Write report.html, the page to read.")] = True,
) -> None:
    """Sort every image of a folder, given labels for some.

    Label a few images of the categories you know in a CSV file:

    \b
        path,label
        2024/IMG_0001.jpg,owl

    then: legogcd discover photos --labels labels.csv --classes 12 --out run

    RUN gets report.html to read, predictions.csv (path, category, status, confidence, predicted), curves.png,
    groups.png, metrics.jsonl, config.json, model.safetensors and calibration.json. To try it on a data set
    with one folder per class:

        legogcd discover birds --labels folders --known owl,hawk,finch --out run

    After `legogcd name` and `confirm` (docs/edits.md), the next round starts from what you confirmed:

        legogcd discover photos --from run --out run2
    """
    from legogcd.run.arguments import check_images, check_labels, check_options
    from legogcd.run.folder import CONFIG, check_free

    check_options(options)
    check_images(images)
    check_labels(labels, options, from_run)
    resume = resume or (options.engine == "ray" and (out / CONFIG).exists())  # a cluster repeats commands as they are
    if not resume and launched.rank() == 0:
        check_free(out)  # before anything long
    from legogcd.evaluation import scoring
    from legogcd.report.page import report_outcome
    from legogcd.run.engines.training import discover_with_engine as run
    from legogcd.run.figure_sample import keep_sample
    from legogcd.run.opening import open_job

    display = show()
    phases = display.phases
    phases.add("starting", seconds_since_start())
    with phases.during("reading the folder"):
        job, truth = open_job(images, labels, options, display.note, from_run, may_download)
    with phases.during("number of classes"):
        job, prepared = with_estimated_classes(job, out, display)
    score = scoring(truth) if truth else None
    with phases.during("getting ready"):
        outcome = run(job, out, score=score, resume=resume, display=display, prepared=prepared)
    if launched.rank():
        return
    with phases.during("pictures"):
        pictures = _pictures(outcome, job, out)
        if truth is not None:
            keep_sample(outcome, job.collection, truth, out)
    with phases.during("summary"):
        told = [*_summary(outcome, scored=truth is not None), *_carried(from_run, out)]
        *doubts, command = _doubts(outcome, out) or [""]
    for line in [*told, *doubts]:
        say(line)
    if command:
        typer.echo(command)  # whole, to be copied
    with phases.during("report"):
        page = report_outcome(outcome, job.collection.images, out, display) if report else None
    say(f"categories: {out / 'predictions.csv'}; pictures: {', '.join(str(path) for path in pictures)}")
    if page is not None:
        typer.echo(f"report: {page}")
    typer.echo(f"next: legogcd review {shlex.quote(str(out))}")
    tell_phases(phases, out)


@o.spelled_out
def encode(
    images: o.Images,
    options: Annotated[RunOptions, o.Only("effort", "backbone", "views", "machine", "engine", "ray_address")],
) -> None:
    """Fill the cache of kept views alone; `discover` with the same settings then starts to train at once."""
    from legogcd.run.arguments import check_images, check_network

    check_images(images)
    check_network(options)
    from legogcd.collection import images_at, unlabelled
    from legogcd.run import Job, prepare
    from legogcd.run.backbone_choice import with_chosen_backbone
    from legogcd.run.effort_choice import with_chosen_effort

    display = show()
    options = with_chosen_backbone(options, display.note, may_download)
    job = Job(unlabelled(images_at(images, options.cache, display.note)), options)
    prepared = prepare(with_chosen_effort(job, display.note), display)
    typer.echo(f"{len(prepared.collection)} images ready, {len(prepared.unreadable)} unreadable")


def evaluate(
    run: o.Run,
    truth: Annotated[Path, typer.Option(help="CSV path,label with the right category of images.")],
    balanced: Annotated[bool, typer.Option("--balanced", help="Average over classes, not over images.")] = False,
) -> None:
    """Score a finished run: All, Old and New after one optimal matching, on the images it had no label for."""
    from legogcd.run.arguments import check_run

    check_run(run)
    from legogcd.run.evaluating import evaluate_run
    from legogcd.wording import percent

    scores = evaluate_run(run, truth, balanced)
    for name in ("all", "old", "new", "nmi", "ari", "forgetting"):
        if name in scores:
            label = {"nmi": "NMI", "ari": "ARI", "forgetting": "Forgetting of Old"}.get(name, name.capitalize())
            typer.echo(f"{label:<18} {percent(scores[name]):>6}")
    typer.echo(f"{'Images scored':<18} {scores['images']:>6}")


def _pictures(outcome: "Outcome", job: "Job", out: Path) -> list[Path]:
    from legogcd.report import draw_contact_sheet, draw_curves
    from legogcd.run.folder import CURVES, GROUPS

    drawn = []
    if job.recipe.epochs:
        drawn.append(out / CURVES)
        draw_curves(outcome.metrics, drawn[-1], outcome.config.title)
    drawn.append(out / GROUPS)
    draw_contact_sheet(outcome.discovery, job.collection.images, drawn[-1])
    return drawn


def _carried(from_run: Path | None, out: Path) -> list[str]:
    """Names that were given in the round before but not confirmed: which groups have them now."""
    if from_run is None:
        return []
    from legogcd.run.carrying import carry_names

    return carry_names(from_run, out).lines()


def _summary(outcome: "Outcome", scored: bool) -> list[str]:
    from legogcd.run.evaluating import forgotten
    from legogcd.wording import percent

    lines = [outcome.discovery.summary()]
    copies = outcome.copies.sentence() if outcome.copies else None
    if copies:
        lines.append(copies)
    if outcome.learned_from is not None:
        lines.append(f"learned from {len(outcome.learned_from)} of them (--train-on); the others were sorted by that")
    if scored:
        of_all = outcome.scores or outcome.metrics[-1]
        scores = [f"{name.capitalize()} {percent(of_all.get(name))}" for name in ("all", "old", "new")]
        lines.append(f"{'  '.join(scores)}  forgetting of Old {percent(forgotten(outcome.metrics))}")
    if outcome.model.calibration.held_out:
        lines.append(_checked(outcome.model.calibration))
    return lines


def _doubts(outcome: "Outcome", out: Path) -> list[str]:
    from legogcd.run.doubts import doubt_lines, find_doubts

    table, checked = outcome.discovery.table(), outcome.model.calibration
    return doubt_lines(find_doubts(out, table, outcome.config, outcome.features, checked))


def _checked(found: "Calibration") -> str:
    """What the labels say that training did not see, for a person with photos."""
    from legogcd.wording import counted, percent

    return (
        f"checked on {counted(found.held_out, 'label')} that training did not see: {percent(found.accuracy)} % right; "
        f"its confidence is off by {percent(found.error)} points on average, and below {found.threshold:.2f} an image "
        "counts as unsure"
    )
