"""Sort a collection, fill the cache for it, score what came out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from legogcd.cli import options as o
from legogcd.cli.classes import estimated
from legogcd.errors import UserError

if TYPE_CHECKING:
    from legogcd.collection import Collection
    from legogcd.evaluation.calibration import Calibration
    from legogcd.run import Outcome


def discover(
    images: o.Images,
    out: Annotated[Path, typer.Option(help="Folder for the run; must not hold one yet.")],
    labels: o.LabelsIfAny = None,
    from_run: Annotated[
        Path | None,
        typer.Option("--from", metavar="RUN", help="Start from the labels given to RUN and those confirmed in it."),
    ] = None,
    classes: o.Classes = None,
    known: o.Known = None,
    labelled_share: o.LabelledShare = 0.5,
    truth: o.TruthFile = None,
    method: o.MethodName = None,
    recipe: o.RecipeName = "default",
    epochs: o.Epochs = None,
    start: Annotated[
        o.Start | None, typer.Option(help="Where prototypes start: random is the paper's; default: the recipe's.")
    ] = None,
    set_: o.Settings = None,
    backbone: o.Backbone = "efficientnet-lite0",
    image_size: o.ImageSize = 224,
    train_blocks: o.TrainBlocks = 1,
    views: o.Views = "4",
    cache: o.Cache = None,
    disk_budget: o.Budget = None,
    kept_dtype: o.KeptAs = o.KeptDtype.bf16,
    held_out: o.HeldOut = 0.1,
    seed: Annotated[int, typer.Option(help="Same seed, same machine, same bytes.")] = 0,
    device: o.OnDevice = o.Device.auto,
    precision: o.InPrecision = o.Precision.auto,
    threads: o.Threads = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run in --out.")] = False,
    report: Annotated[bool, typer.Option(help="Write report.html, the page to read.")] = True,
) -> None:
    """Sort every image of a folder, given labels for some.

    Label a few images of the categories you know in a CSV file:

        path,label
        2024/IMG_0001.jpg,owl

    then: legogcd discover photos --labels labels.csv --classes 12 --out run

    RUN gets report.html to read, predictions.csv (path, category, status, confidence, predicted), curves.png,
    groups.png, metrics.jsonl, config.json, model.safetensors and calibration.json. To try it on a data set
    with one folder a class:

        legogcd discover birds --labels folders --known owl,hawk,finch --out run

    After `legogcd name` and `confirm` (docs/edits.md), the next round starts from what you confirmed:

        legogcd discover photos --from run --out run2
    """
    from legogcd.display import Screen
    from legogcd.evaluation import scoring
    from legogcd.methods import choose_recipe, default_method
    from legogcd.report.page import report_outcome
    from legogcd.run import Job
    from legogcd.run import discover as run
    from legogcd.run.figure_sample import keep_sample
    from legogcd.run.folder import check_free

    display = Screen()
    if not resume:
        check_free(out)  # before anything long
    if from_run is not None:
        collection, known_truth = o.open_next_round(images, from_run, labels, truth, display.note)
        n_classes = o.count_classes(classes or o.categories_now(from_run), collection, known_truth, None)
    elif labels is not None:
        collection, known_truth = o.open_collection(images, labels, known, labelled_share, truth, display.note)
        n_classes = o.count_classes(classes, collection, known_truth, labels)
    else:
        raise UserError("--labels is needed: a CSV with columns path,label, or folders; or --from RUN")
    settings = o.read_settings(set_ or [], epochs=epochs, start=start)
    method = method or default_method(recipe)
    job = Job(
        collection=collection,
        n_classes=n_classes or 0,
        method=method,
        recipe=choose_recipe(recipe, method, backbone, settings),
        backbone=backbone,
        image_size=image_size,
        train_blocks=train_blocks,
        keeping=o.keeping_rules(views, cache, disk_budget, kept_dtype),
        held_out=held_out,
        seed=seed,
        device=device,
        precision=precision,
        threads=threads,
        name=images.resolve().name,
    )
    if n_classes is None:
        job = estimated(job, out, display)
    score = scoring(known_truth) if known_truth is not None else None
    outcome = run(job, out, score=score, resume=resume, display=display)
    pictures = _pictures(outcome, collection, out)
    typer.echo(outcome.discovery.summary())
    if known_truth is not None:
        keep_sample(outcome, collection, known_truth, out)
        typer.echo(_scores(outcome.metrics))
    if outcome.model.calibration.held_out:
        typer.echo(_calibrated(outcome.model.calibration))
    typer.echo(f"categories: {out / 'predictions.csv'}; pictures: {', '.join(str(path) for path in pictures)}")
    page = report_outcome(outcome, collection.images, out, display) if report else None
    if page is not None:
        typer.echo(f"report: {page}")


def encode(
    images: o.Images,
    backbone: o.Backbone = "efficientnet-lite0",
    image_size: o.ImageSize = 224,
    train_blocks: o.TrainBlocks = 1,
    views: o.Views = "4",
    cache: o.Cache = None,
    disk_budget: o.Budget = None,
    kept_dtype: o.KeptAs = o.KeptDtype.bf16,
    device: o.OnDevice = o.Device.auto,
    precision: o.InPrecision = o.Precision.auto,
    threads: o.Threads = None,
) -> None:
    """Fill the cache of kept views alone; `discover` with the same settings then starts to train at once."""
    from legogcd.collection import find_images
    from legogcd.display import Screen
    from legogcd.run.runtime import open_runtime
    from legogcd.vision import Encoder, load_backbone
    from legogcd.vision.views.opening import open_views

    display = Screen()
    runtime = open_runtime(device, precision, threads)
    model = load_backbone(backbone, image_size=image_size, train_blocks=train_blocks).to(runtime.device)
    encoder = Encoder(model, runtime.device, runtime.precision)
    found = find_images(images)
    opened = open_views(encoder, found, o.keeping_rules(views, cache, disk_budget, kept_dtype), display)
    for row, reason in sorted(opened.unreadable.items()):
        display.warn(f"{found.names[row]}: {reason}")
    typer.echo(f"{len(found) - len(opened.unreadable)} images ready, {len(opened.unreadable)} unreadable")


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    truth: Annotated[Path, typer.Option(help="CSV path,label with the right category of images.")],
    balanced: Annotated[bool, typer.Option("--balanced", help="Average over classes, not over images.")] = False,
) -> None:
    """Score a finished run: All, Old and New after one optimal matching, on the images it had no label for."""
    from legogcd.evaluation import evaluate_run
    from legogcd.wording import percent

    scores = evaluate_run(run, truth, balanced)
    for name in ("all", "old", "new", "nmi", "ari", "forgetting"):
        if name in scores:
            label = {"nmi": "NMI", "ari": "ARI", "forgetting": "Forgetting of Old"}.get(name, name.capitalize())
            typer.echo(f"{label:<18} {percent(scores[name]):>6}")
    typer.echo(f"{'Images scored':<18} {scores['images']:>6}")


def _pictures(outcome: "Outcome", collection: "Collection", out: Path) -> list[Path]:
    from legogcd.report import draw_contact_sheet, draw_curves

    config, drawn = outcome.config, []
    if config["recipe"]["epochs"]:
        drawn.append(out / "curves.png")
        draw_curves(outcome.metrics, drawn[-1], f"{config['name']}: {config['method']}, seed {config['seed']}")
    drawn.append(out / "groups.png")
    draw_contact_sheet(outcome.discovery, collection.images, drawn[-1])
    return drawn


def _calibrated(found: "Calibration") -> str:
    from legogcd.wording import percent

    return (
        f"confidence calibrated on {found.held_out} held-out labels ({percent(found.accuracy)} % found right): off by "
        f"{percent(found.error)} points on average; below {found.threshold:.2f} an image counts as unsure"
    )


def _scores(metrics: list[dict[str, Any]]) -> str:
    from legogcd.evaluation import forgetting
    from legogcd.wording import percent

    last = metrics[-1]
    lost = forgetting([entry["old"] for entry in metrics if entry.get("old") is not None])
    return (
        f"All {percent(last.get('all'))}  Old {percent(last.get('old'))}  New {percent(last.get('new'))}  "
        f"forgetting of Old {percent(lost)}"
    )
