"""Images with the labels they have, and, apart from them, the truth that only scores."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from legogcd.collection.differences import digest_by_name
from legogcd.collection.images import ImageFiles, Images, Indices
from legogcd.collection.look_alikes import look_alike_warnings
from legogcd.errors import UserError
from legogcd.wording import counted, some_of

UNLABELLED = -1


@dataclass(frozen=True, eq=False)
class Collection:
    """Images with the labels they have.

    ``labels`` [N] int64 are positions in ``known``, -1 where an image is unlabelled. ``notes`` tells what was
    changed on the way here; ``check`` passes it on. With ``known_by_name`` a class is known also where none of its
    images is labelled, as in the paper's splits; otherwise it counts as new once the last one is gone.
    """

    images: Images
    labels: NDArray[np.int64]
    known: tuple[str, ...]
    notes: tuple[str, ...] = ()
    known_by_name: bool = False

    def __post_init__(self) -> None:
        if self.labels.shape != (len(self.images),):
            raise ValueError(f"labels have shape {self.labels.shape}, expected ({len(self.images)},)")
        if self.labels.size and not UNLABELLED <= self.labels.min() <= self.labels.max() < len(self.known):
            raise ValueError(f"labels must be -1 or a position among {len(self.known)} known classes")

    def __len__(self) -> int:
        return len(self.images)

    @property
    def n_known(self) -> int:
        return len(self.known)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Mask [N] of the labelled images."""
        return self.labels >= 0

    def counts(self) -> dict[str, int]:
        """Labelled images of each known class."""
        per_class = np.bincount(self.labels[self.labelled], minlength=self.n_known)
        return dict(zip(self.known, per_class.tolist(), strict=True))

    def keep(self, indices: Indices) -> "Collection":
        """The collection of the given rows; a class left without a labelled image is known by name, or no more."""
        rows = np.asarray(indices, dtype=np.int64)
        kept = replace(self, images=self.images.subset(rows), labels=self.labels[rows])
        return kept if self.known_by_name else kept._without_empty_classes("has no labelled image left")

    def check(self, n_classes: int) -> list[str]:
        """Raise where the counts contradict each other; otherwise return what deserves a warning."""
        n_labelled = int(self.labelled.sum())
        n_unlabelled = len(self) - n_labelled
        if n_classes < 2:
            raise UserError(f"{n_classes} classes were asked for; expected at least 2")
        if n_labelled == 0:
            raise UserError("no image is labelled; give labels for some images of some classes")
        if self.n_known > n_classes:
            raise UserError(more_labelled(self.n_known, n_classes))
        if n_classes > len(self):
            raise UserError(f"{n_classes} classes were asked for, but there are only {len(self)} images")
        if n_classes - self.n_known > n_unlabelled:
            raise UserError(
                f"{n_classes} classes were asked for: {n_classes - self.n_known} new ones, "
                f"but only {counted(n_unlabelled, 'image')} without a label"
            )
        return [*self.notes, *self._small_counts(n_classes, n_unlabelled), *self.look_alikes()]

    def look_alikes(self) -> list[str]:
        """What to say of classes, and of image files, whose names a person would take for one."""
        twins = look_alike_warnings(self.images.names, "image") if isinstance(self.images, ImageFiles) else []
        by_form = [warning for warning in twins if "Unicode form" in warning]  # IMG_1.jpg and img_1.JPG are usual
        return [*look_alike_warnings(self.known, "class"), *by_form]

    def labels_digest(self) -> str:
        """SHA-256 over the labels by image name, whatever the order of the images and of the classes."""
        labels = ("" if label < 0 else self.known[label] for label in self.labels.tolist())
        return digest_by_name(zip(self.images.names, labels, strict=True))

    def _small_counts(self, n_classes: int, n_unlabelled: int) -> list[str]:
        warnings = []
        if n_unlabelled == 0:
            warnings.append("every image is labelled: there is nothing to discover")
        elif n_classes == self.n_known:
            warnings.append(f"all {n_classes} classes are known: no new one will be found")
        if self.n_known == 1:
            warnings.append(f"only one class is labelled ({self.known[0]!r}); two or more work better")
        for count, images in ((0, "out a labelled image"), (1, " a single labelled image")):
            few = [name for name, labelled in self.counts().items() if labelled == count]
            if few:
                warnings.append(f"{counted(len(few), 'known class')} with{images}: {some_of(few, 5)}")
        return warnings

    def _without_empty_classes(self, why: str) -> "Collection":
        present = np.unique(self.labels[self.labelled])
        if len(present) == self.n_known:
            return self
        new_id = np.full(self.n_known + 1, UNLABELLED, dtype=np.int64)  # the last place is for label -1
        new_id[present] = np.arange(len(present))
        gone = [name for i, name in enumerate(self.known) if i not in set(present.tolist())]
        notes = tuple(f"known class {name!r} {why} and counts as new" for name in gone)
        known = tuple(self.known[i] for i in present)
        return Collection(self.images, new_id[self.labels], known, self.notes + notes)


def unlabelled(images: Images) -> Collection:
    """Images of which nothing is known."""
    return Collection(images, np.full(len(images), UNLABELLED), ())


@dataclass(frozen=True)
class Truth:
    """The true class of images, by image name: for scoring only, never for training.

    ``unmatched`` counts the rows of a truth file whose images are not there. ``order`` are class names in the order of
    their ids, where a split has one; the others follow in alphabetical order.
    """

    labels: Mapping[str, str]
    unmatched: int = 0
    order: tuple[str, ...] = ()

    def encode(self, collection: Collection) -> NDArray[np.int64]:
        """Class ids [N]: known names keep their ids, the others follow in their order, -1 where there is no truth."""
        names = [*collection.known, *self._others(collection)]
        ids = {name: i for i, name in enumerate(names)}
        truth = (self.labels.get(name) for name in collection.images.names)
        return np.array([UNLABELLED if label is None else ids[label] for label in truth], dtype=np.int64)

    def encode_unlabelled(self, collection: Collection) -> NDArray[np.int64]:
        """Class ids [N] as `encode` gives them, -1 also where an image is labelled: what is scored."""
        return np.where(collection.labelled, UNLABELLED, self.encode(collection))

    def n_classes(self, collection: Collection) -> int:
        """Known classes and the other true ones among the collection's images."""
        return collection.n_known + len(self._others(collection))

    def _others(self, collection: Collection) -> list[str]:
        present = {self.labels[name] for name in collection.images.names if name in self.labels}
        new = present - set(collection.known)
        listed = [name for name in self.order if name in new]
        return [*listed, *sorted(new.difference(listed))]


def more_labelled(n_known: int, n_classes: int) -> str:
    """What to say where more classes are labelled than there shall be."""
    return (
        f"{n_known} classes are labelled but only {n_classes} were asked for; "
        "the number of classes counts the known and the new ones"
    )
