"""Versions of one photo in a collection: ``python -m bench.accuracy.duplicates DIR:KNOWN... --work DIR --out CSV``.

Of a folder with one sub-folder per class some images of each class are copied, and of some of the unlabelled ones
eight versions more: compressed, half as large, cropped a little, brighter, darker, and several of these at once. Both
ways to run, every file counting and near-duplicates counting as one, are scored by seed on the original photos alone:
All, Old and New, and how many groups are anchored, that is, made of versions of one photo by more than half. Before
that it is said how many of the planted versions are found, and which pairs of different photos are taken for one.
"""

import argparse
import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance

from bench.accuracy.study import DataSet
from legogcd.collection import Truth, find_images, from_folders
from legogcd.display import Quiet
from legogcd.evaluation import clustering_accuracy
from legogcd.run import Job, Outcome, RunOptions, discover, prepare

MARK = "--version-"
COLUMNS = ("dataset", "seed", "near_duplicates", "all", "old", "new", "anchored", "merged", "images")


def main() -> None:
    options = read_options()
    rows = read_others(options.out, {data.name for data in options.data})
    for data in options.data:
        for row in rows_of(data, options):
            rows.append(row)
            print(dict(zip(COLUMNS, row, strict=True)), flush=True)
            write(options.out, rows)


def rows_of(data: DataSet, options: argparse.Namespace) -> Iterator[tuple[object, ...]]:
    """Both ways to run by seed, after the collection was made and what is found in it was said."""
    folder = options.work / f"{data.name}-planted"
    if not folder.exists():
        plant(data, folder, options)
    collection, truth = from_folders(find_images(folder), sorted(path.name for path in folder.iterdir())[: data.known])
    chosen = RunOptions(
        n_classes=truth.n_classes(collection), epochs=options.epochs, cache=options.cache, threads=options.threads
    )
    prepared = prepare(Job(collection, chosen), Quiet())
    prepared.find_copies(Quiet())
    print(found_pairs(collection.images.names, prepared.copies.stands_in), flush=True)
    for seed in options.seeds:
        for how in ("apart", "as-one"):
            outcome = discover(Job(collection, chosen.changed(seed=seed, near_duplicates=how)))
            yield (data.name, seed, how, *scored(outcome, truth, collection.n_known))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.accuracy.duplicates", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("data", type=DataSet.read, nargs="+", metavar="DIR:KNOWN")
    parser.add_argument("--work", type=Path, required=True, help="where the collection is made")
    parser.add_argument("--out", type=Path, default=Path("results/duplicates.csv"))
    parser.add_argument("--classes", type=int, default=12, help="how many sub-folders are taken")
    parser.add_argument("--images", type=int, default=24, help="of each")
    parser.add_argument("--planted", type=int, default=6, help="photos with versions")
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--threads", type=int)
    return parser.parse_args()


def plant(data: DataSet, out: Path, options: argparse.Namespace) -> None:
    """The collection: some images of the first classes, and the versions of some that will have no label."""
    random = np.random.default_rng(0)
    folders = sorted(path for path in data.folder.iterdir() if path.is_dir())[: options.classes]
    for folder in folders:
        (out / folder.name).mkdir(parents=True)
        for path in sorted(folder.iterdir())[: options.images]:
            (out / folder.name / path.name).write_bytes(path.read_bytes())
    collection, _ = from_folders(find_images(out), [folder.name for folder in folders[: data.known]])
    unlabelled = np.flatnonzero(~collection.labelled)
    for row in random.choice(unlabelled, options.planted, replace=False):
        path = out / collection.images.names[row]
        with Image.open(path) as opened:
            picture = opened.convert("RGB")
        for number, change in enumerate(VERSIONS):
            change(picture).save(path.with_name(f"{path.stem}{MARK}{number}.jpg"), quality=90)


def compressed(picture: Image.Image, quality: int) -> Image.Image:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=quality)
    return Image.open(file).convert("RGB")


def smaller(picture: Image.Image, share: float) -> Image.Image:
    return picture.resize((round(share * picture.width), round(share * picture.height)), Image.Resampling.BICUBIC)


def cropped(picture: Image.Image, left: float, top: float, right: float, bottom: float) -> Image.Image:
    width, height = picture.size
    return picture.crop(
        (round(left * width), round(top * height), round(width - right * width), round(height - bottom * height))
    )


VERSIONS: tuple[Callable[[Image.Image], Image.Image], ...] = (
    lambda picture: compressed(picture, 30),
    lambda picture: smaller(picture, 0.5),
    lambda picture: cropped(picture, 0.05, 0.05, 0.05, 0.05),
    lambda picture: cropped(picture, 0.08, 0.02, 0.0, 0.06),
    lambda picture: ImageEnhance.Brightness(picture).enhance(1.25),
    lambda picture: ImageEnhance.Brightness(picture).enhance(0.7),
    lambda picture: ImageEnhance.Color(picture).enhance(1.4),
    lambda picture: compressed(smaller(cropped(picture, 0.03, 0.05, 0.04, 0.02), 0.7), 50),
)


def original(name: str) -> str:
    """The photo a file is a version of."""
    return name.split(MARK)[0].removesuffix(".jpg")


def found_pairs(names: tuple[str, ...], stands_in: np.ndarray) -> str:
    merged = [(names[row], names[of]) for row, of in enumerate(stands_in) if row != of]
    planted = sum(MARK in name for name in names)
    right = sum(original(one) == original(other) for one, other in merged)
    wrong = [pair for pair in merged if original(pair[0]) != original(pair[1])]
    return f"{len(names)} images: {right} of {planted} planted versions found; different photos taken for one: {wrong}"


def scored(outcome: Outcome, truth: Truth, n_known: int) -> tuple[float | int, ...]:
    """All, Old and New of the original photos without a label, anchored groups, and images that were merged."""
    found = outcome.discovery
    ids = {
        name: number
        for number, name in enumerate([*found.known, *sorted(set(truth.labels.values()) - set(found.known))])
    }
    rows = [row for row, name in enumerate(found.names) if MARK not in name and found.labels[row] < 0]
    true = np.array([ids[truth.labels[found.names[row]]] for row in rows])
    score = clustering_accuracy(true, found.predicted[rows], n_known)
    anchored = 0
    for group in np.unique(found.predicted):
        photos = [original(found.names[row]) for row in np.flatnonzero(found.predicted == group)]
        anchored += max(map(photos.count, set(photos))) > len(photos) / 2
    merged = outcome.copies.extra if outcome.copies else 0
    return (*(round(part, 4) for part in (score.all, score.old, score.new)), anchored, merged, len(found.names))


def read_others(path: Path, names: set[str]) -> list[tuple[object, ...]]:
    """The rows of other data sets that are there already."""
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return [tuple(row) for row in list(csv.reader(file))[1:] if row[0] not in names]


def write(path: Path, rows: list[tuple[object, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
