"""Whether a training came to nothing: all images called the same, equally sure of all, or nothing new found.

Skewed data are no collapse. That nearly all images are in one class means little by itself; that images *labelled*
otherwise are put there too cannot be honest. Where labels cannot tell, only what no data explain counts.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from legogcd.wording import counted

_NEARLY_ALL = 0.95  # of the images labelled otherwise that are put into one class all the same
_FEWEST_LABELLED = 5  # images labelled otherwise, and
_LEAST_LABELLED = 0.2  # of all labelled ones, from which labels can tell: a rare class alone may simply not be learned
_FEWEST = 20  # images that say something about a model when no label does
_FEWEST_A_GROUP = 10  # images per new class asked for, from which none at all is odd
_ROUNDING = 1e-4  # of predictions.csv: confidences that differ less are equal
_LIKE_A_GUESS = 1.5  # times 1/K, the confidence of a guess among K classes; k-means says 1 of every image
_ADVICE = "try a smaller learning rate, for example --set learning_rate=0.01, or more epochs"


def collapse_of_table(table: pd.DataFrame, n_classes: int, n_known: int) -> str | None:
    """What to say of a run that came to nothing, in one line with what to try; None of any other.

    ``table`` has the columns of predictions.csv; ``n_classes`` were asked for, ``n_known`` of them known.

    >>> found = pd.DataFrame({"category": ["owl", "hawk"] * 20, "status": "labelled", "predicted": "owl"})
    >>> collapse_of_table(found.assign(confidence=0.9), n_classes=3, n_known=2).split(":")[0]
    'the training collapsed'
    """
    labelled, novel = ((table["status"] == status).to_numpy(bool) for status in ("labelled", "novel"))
    predicted, confidence, labels = (table[name].to_numpy() for name in ("predicted", "confidence", "category"))
    collapsed = collapse_sentence(predicted, confidence, labels, labelled, n_classes)
    return collapsed or no_new_groups(novel[~labelled], n_classes - n_known)


def collapse_sentence(
    predicted: NDArray[Any],
    confidence: NDArray[np.floating],
    labels: NDArray[Any],
    labelled: NDArray[np.bool_],
    n_classes: int,
) -> str | None:
    """What to say of a collapsed run, in one line with what to try; None if it did not collapse.

    ``predicted`` [N] are the classes the model gives, ids or names, ``labels`` [N] those that were given, of which only
    those where ``labelled`` [N] count, and ``n_classes`` how many there are to choose from.
    """
    if n_classes < 2 or not len(predicted):
        return None
    reason = (
        _no_numbers(confidence)
        or _same_confidence(confidence, n_classes)
        or _against_labels(predicted, labels, labelled)
        or _all_in_one(predicted, labels, labelled, n_classes)
    )
    return f"the training collapsed: {reason}; {_ADVICE}" if reason else None


def no_new_groups(novel: NDArray[np.bool_], n_new: int) -> str | None:
    """What to say if none of the unlabelled images is in a new group, though several were asked for; else None.

    ``novel`` [N] tells which unlabelled images are. It may be honest, so it is called nothing worse than it is.
    """
    if n_new < 2 or len(novel) < max(_FEWEST, _FEWEST_A_GROUP * n_new) or novel.any():
        return None
    return (
        f"no new group was found: all {len(novel)} unlabelled images are in known classes, though {n_new} new "
        f"classes were asked for; if there should be some, {_ADVICE}"
    )


def _no_numbers(confidence: NDArray[np.floating]) -> str | None:
    broken = int((~np.isfinite(confidence)).sum())
    return f"the model has no confidence in {broken} of {counted(len(confidence), 'image')}" if broken else None


def _same_confidence(confidence: NDArray[np.floating], n_classes: int) -> str | None:
    """Every image alike to the model, which is no surer than a guess."""
    if len(confidence) < _FEWEST or np.ptp(confidence) > _ROUNDING or confidence.max() > _LIKE_A_GUESS / n_classes:
        return None
    return f"the model is equally unsure of all {len(confidence)} images ({100 * confidence.max():.0f} %)"


def _against_labels(predicted: NDArray[Any], labels: NDArray[Any], labelled: NDArray[np.bool_]) -> str | None:
    """Images labelled otherwise that are put into one class all the same."""
    top = _most_common(predicted)
    otherwise = _labelled_otherwise(labels, labelled, top)
    if otherwise is None:
        return None
    taken = int((predicted[otherwise] == top).sum())
    if taken < _NEARLY_ALL * otherwise.sum():
        return None
    return (
        f"{int((predicted == top).sum())} of {counted(len(predicted), 'image')} are put into one class, and {taken} "
        f"of the {int(otherwise.sum())} labelled as another class are among them"
    )


def _all_in_one(
    predicted: NDArray[Any], labels: NDArray[Any], labelled: NDArray[np.bool_], n_classes: int
) -> str | None:
    """Not one unlabelled image outside one class, where no label tells whether that is so."""
    found = predicted[~labelled]
    if len(found) < max(_FEWEST, 2 * n_classes) or len(np.unique(found)) > 1:
        return None
    if _labelled_otherwise(labels, labelled, found[0]) is not None:
        return None  # the labels were asked already
    return f"all {len(found)} unlabelled images are put into one class, though {n_classes} classes were asked for"


def _most_common(values: NDArray[Any]) -> Any:
    found, counts = np.unique(values.astype(str) if values.dtype == object else values, return_counts=True)
    return found[counts.argmax()]


def _labelled_otherwise(labels: NDArray[Any], labelled: NDArray[np.bool_], top: Any) -> NDArray[np.bool_] | None:
    """Which images have a label other than ``top`` [N]; None if they are too few to tell anything."""
    otherwise: NDArray[np.bool_] = labelled & (labels != top)
    enough = otherwise.sum() >= max(_FEWEST_LABELLED, _LEAST_LABELLED * labelled.sum())
    return otherwise if enough else None
