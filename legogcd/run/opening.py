"""The collection a command is about: images on disk, the labels its options name, and the truth where there is one."""

from collections.abc import Callable, Set
from pathlib import Path

from legogcd.collection import (
    Collection,
    ImageFiles,
    Truth,
    find_images,
    from_folders,
    from_labels,
    read_labels,
    read_truth,
    unlabelled,
)
from legogcd.collection.differences import CollectionRecord, what_differs
from legogcd.errors import UserError
from legogcd.run.categories import confirmed_labels, current
from legogcd.run.folder import COLLECTION, run_file
from legogcd.run.job import Job
from legogcd.run.options import LabelOptions, RunOptions
from legogcd.wording import counted

FOLDERS = "folders"  # what --labels says where the folders' names are the labels
Note = Callable[[str], None]


def open_job(
    images: Path, labels: LabelOptions, options: RunOptions, note: Note, from_run: Path | None = None
) -> tuple[Job, Truth | None]:
    """A job on the images of a folder, and the truth; its number of classes is known, or ``auto``."""
    found = _find(images, note)
    if from_run is not None:
        collection, truth = _next_round(found, labels, from_run, note)
    elif labels.labels is not None:
        collection, truth = _labelled(found, labels, note)
    else:
        raise UserError("--labels is needed: a CSV with columns path,label, or folders; or --from RUN")
    n_classes = options.n_classes
    if n_classes is None and from_run is not None:
        n_classes = int(current(from_run)["category"].nunique())
    if n_classes is None and truth is not None and labels.labels == FOLDERS:
        n_classes = truth.n_classes(collection)
    if n_classes is None:
        raise UserError(
            "--classes is needed: how many categories there are in all, known and new, or auto to estimate it"
        )
    return Job(collection, options.changed(n_classes=n_classes), images.resolve().name), truth


def _find(images: Path, note: Note) -> ImageFiles:
    found = find_images(images)
    if found.ignored:
        note(f"{counted(found.ignored, 'file')} passed over: not an image by name")
    return found


def _labelled(found: ImageFiles, labels: LabelOptions, note: Note) -> tuple[Collection, Truth | None]:
    """The images with the labels of a file or of their folders."""
    assert labels.labels is not None
    truth = _truth(found, labels, note)
    if labels.labels != FOLDERS:
        if labels.known is not None:
            raise UserError("--known goes with --labels folders; a labels file names the known classes itself")
        return from_labels(found, read_labels(Path(labels.labels), found)), truth
    names = [name.strip() for name in (labels.known or "").split(",") if name.strip()]
    collection, folder_truth = from_folders(found, names, labels.labelled_share)
    return collection, truth or folder_truth


def _next_round(found: ImageFiles, labels: LabelOptions, run: Path, note: Note) -> tuple[Collection, Truth | None]:
    """The images with the labels a run was given and those confirmed in it; a labels file may add to them."""
    if labels.labels == FOLDERS:
        raise UserError(
            "--labels folders does not go with --from: its labels come from RUN; a CSV file may add to them"
        )
    there, confirmed = set(found.names), confirmed_labels(run)
    gone = len(confirmed.keys() - there)
    if gone:
        note(f"{counted(gone, 'labelled image')} of {run} not there any more")
    merged = {path: label for path, label in confirmed.items() if path in there}
    for sentence in _changed_since(found, run, merged.keys()):
        note(f"since {run} was made: {sentence}; their labels are used all the same")
    added = read_labels(Path(labels.labels), found) if labels.labels is not None else {}
    for path, label in added.items():
        if merged.setdefault(path, label) != label:
            raise UserError(f"{path} is {merged[path]!r} in {run} and {label!r} in {labels.labels}; settle which it is")
    return from_labels(found, merged), _truth(found, labels, note)


def _changed_since(found: ImageFiles, run: Path, names: Set[str]) -> list[str]:
    """How the files of some images differ from what they were when a run began, in words."""
    if not (run / COLLECTION).is_file():
        return []
    before, now = CollectionRecord.read(run_file(run, COLLECTION)), CollectionRecord.of(unlabelled(found))
    both = names & before.images.keys() & now.images.keys()
    then, today = (CollectionRecord({name: (*each.images[name][:2], "") for name in both}) for each in (before, now))
    return [difference.sentence for difference in what_differs(then.digests(), today, then)]


def _truth(found: ImageFiles, labels: LabelOptions, note: Note) -> Truth | None:
    if labels.truth is None:
        return None
    truth = read_truth(labels.truth, found)
    if truth.unmatched:
        note(f"{counted(truth.unmatched, 'image')} of {labels.truth} not there: not scored")
    return truth
