"""What a run will cost, before it is started."""

import typer

from legogcd.cli import options as o

ASSUMED_CLASSES = 100


def plan(
    images: o.Images,
    labels: o.LabelsIfAny = None,
    classes: o.Classes = None,
    known: o.Known = None,
    labelled_share: o.LabelledShare = 0.5,
    method: o.MethodName = None,
    recipe: o.RecipeName = "default",
    epochs: o.Epochs = None,
    set_: o.Settings = None,
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
    """Say what `discover` with the same options will cost here: time, disk, memory; from some seconds of measurement.

    legogcd plan photos --classes 12

    Labels are not needed; without --classes up to 100 of them are assumed. Nothing is left behind.
    """
    import numpy as np

    from legogcd.collection import Collection, find_images
    from legogcd.display import Screen
    from legogcd.methods import choose_recipe, default_method
    from legogcd.run import Job
    from legogcd.run.plan import plan as measure

    display = Screen()
    if labels is not None:
        collection, truth = o.open_collection(images, labels, known, labelled_share, None, display.note)
        n_classes = o.count_classes(classes, collection, truth, labels) or ASSUMED_CLASSES
    else:
        found = find_images(images)
        n_classes = o.read_classes(classes or "auto") or min(ASSUMED_CLASSES, max(2, len(found) // 2))
        n_known = max(1, n_classes // 2)
        labels_made = np.where(np.arange(len(found)) % 2, -1, np.arange(len(found)) % n_known)
        collection = Collection(found, labels_made, tuple(f"class {number}" for number in range(n_known)))
    method = method or default_method(recipe)
    job = Job(
        collection=collection,
        n_classes=n_classes,
        method=method,
        recipe=choose_recipe(recipe, method, backbone, o.read_settings(set_ or [], epochs=epochs, start=None)),
        backbone=backbone,
        image_size=image_size,
        train_blocks=train_blocks,
        keeping=o.keeping_rules(views, cache, disk_budget, kept_dtype),
        device=device,
        precision=precision,
        threads=threads,
    )
    for line in measure(job, display).lines():
        typer.echo(line)
