"""The collection a command is about: images on disk, the labels its options name, and the truth where there is one."""

from collections.abc import Callable, Set
from pathlib import Path

from legogcd.collection import (
    Collection,
    Searched,
    Truth,
    from_folders,
    from_labels,
    from_sidecars,
    images_at,
    read_labels,
    read_truth,
    unlabelled,
)
from legogcd.collection.differences import CollectionRecord, what_differs
from legogcd.collection.folder_search import NO_RAW_READER
from legogcd.collection.python_inputs import SIDECARS
from legogcd.errors import UserError
from legogcd.run.arguments import FOLDERS, check_labels
from legogcd.run.backbone_choice import Ask, with_chosen_backbone
from legogcd.run.categories import confirmed_labels, current
from legogcd.run.config import read_config
from legogcd.run.effort_choice import with_chosen_effort
from legogcd.run.folder import COLLECTION, run_file
from legogcd.run.job import Job
from legogcd.run.options import LabelOptions, RunOptions
from legogcd.wording import counted, some_of

Note = Callable[[str], None]


def open_job(
    images: Path,
    labels: LabelOptions,
    options: RunOptions,
    note: Note,
    from_run: Path | None = None,
    ask: Ask | None = None,
) -> tuple[Job, Truth | None]:
    """A job on the images of a folder, an archive or a URL, and the truth; its number of classes is known, or ``auto``.

    ``ask`` is asked whether a backbone may be downloaded, where the options leave the choice to us; labelled images
    are looked at where they leave the effort to us.
    """
    check_labels(labels, options, from_run)
    options = with_chosen_backbone(options, note, ask)
    found, set_aside = _find(images, options.cache, note), frozenset[str]()
    if from_run is not None:
        collection, truth = _next_round(found, labels, from_run, note)
        set_aside = _set_aside(from_run)
    else:
        collection, truth = _labelled(found, labels, note)
    n_classes = options.n_classes
    if n_classes is None and from_run is not None:
        now = current(from_run)
        n_classes = int(now["category"][now["status"] != "rejected"].nunique())
    if n_classes is None and truth is not None and labels.labels in (FOLDERS, SIDECARS):
        n_classes = truth.n_classes(collection)
    job = Job(collection, options.changed(n_classes=n_classes), images.resolve().name, set_aside)
    return with_chosen_effort(job, note), truth


def _find(images: Path, cache: Path | None, note: Note) -> Searched:
    found = images_at(images, cache, note)
    if found.ignored:
        note(f"{counted(found.ignored, 'file')} passed over: not an image by name")
    unread = [name for name, reason in found.skipped.items() if reason == NO_RAW_READER]
    if unread:
        note(f"{counted(len(unread), 'file')} passed over: {NO_RAW_READER}: {some_of(unread, 3)}")
    return found


def _labelled(found: Searched, labels: LabelOptions, note: Note) -> tuple[Collection, Truth | None]:
    """The images with the labels of a file or of their folders."""
    assert labels.labels is not None
    truth = _truth(found, labels, note)
    if labels.labels not in (FOLDERS, SIDECARS):
        return from_labels(found, read_labels(Path(labels.labels), found, note)), truth
    source = from_folders if labels.labels == FOLDERS else from_sidecars
    collection, own_truth = source(found, labels.known_names, labels.labelled_share)
    return collection, truth or own_truth


def _next_round(found: Searched, labels: LabelOptions, run: Path, note: Note) -> tuple[Collection, Truth | None]:
    """The images with the labels a run was given and those confirmed in it; a labels file may add to them."""
    there, confirmed = set(found.names), confirmed_labels(run)
    gone = len(confirmed.keys() - there)
    if gone:
        note(f"{counted(gone, 'labelled image')} of {run} not there any more")
    merged = {path: label for path, label in confirmed.items() if path in there}
    for sentence in _changed_since(found, run, merged.keys()):
        note(f"since {run} was made: {sentence}; their labels are used all the same")
    added = read_labels(Path(labels.labels), found, note) if labels.labels is not None else {}
    for path, label in added.items():
        if merged.setdefault(path, label) != label:
            raise UserError(f"{path} is {merged[path]!r} in {run} and {label!r} in {labels.labels}; settle which it is")
    return from_labels(found, merged), _truth(found, labels, note)


def _set_aside(run: Path) -> frozenset[str]:
    """The images that were set aside in a run, or in those it came from."""
    now = current(run)
    return frozenset(now["path"][now["status"] == "rejected"]) | {*read_config(run).images.set_aside}


def _changed_since(found: Searched, run: Path, names: Set[str]) -> list[str]:
    """How the files of some images differ from what they were when a run began, in words."""
    if not (run / COLLECTION).is_file():
        return []
    before, now = CollectionRecord.read(run_file(run, COLLECTION)), CollectionRecord.of(unlabelled(found))
    both = names & before.images.keys() & now.images.keys()
    then, today = (CollectionRecord({name: (*each.images[name][:2], "") for name in both}) for each in (before, now))
    return [difference.sentence for difference in what_differs(then.digests(), today, then)]


def _truth(found: Searched, labels: LabelOptions, note: Note) -> Truth | None:
    if labels.truth is None:
        return None
    truth = read_truth(labels.truth, found, note)
    if truth.unmatched:
        note(f"{counted(truth.unmatched, 'image')} of {labels.truth} not there: not scored")
    return truth
