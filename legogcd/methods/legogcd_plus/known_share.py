"""How many of the unlabelled images are of known classes, as far as the labels can tell."""

from collections.abc import Iterator

import numpy as np

from legogcd.clustering import directions
from legogcd.methods.labelled_means import labelled_means
from legogcd.methods.legogcd_plus.whitening import around_class_means, equalizing

_DIVISIONS = 20  # how often the labelled images are divided anew
_PARTS = 5  # into how many parts each time, which are left out in turns
_MOST_IMAGES = 5_000  # labelled images, and as many unlabelled ones, are looked at
_FEWEST_IMAGES = 5  # a bound is read from at least so many labelled images
_LEAST_SHARE = 0.2  # and from at least this share of them


def known_share(points: np.ndarray, labels: np.ndarray, seed: int) -> float | None:
    """The share of the unlabelled images that are of known classes; None where too few are labelled to tell.

    Labelled images stand for all images of their classes. Left out in turns, they show how near such images come to a
    known class, and `share_of_positives` holds that against the unlabelled ones; the mean over several ways to take
    turns counts. ``points`` [N, d] are features along their principal axes, whitened here without the labels that are
    left out; ``labels`` [N] are classes, -1 for none.

    It can tell only as well as the labelled images were chosen at random, and takes new classes that look like known
    ones for known.
    """
    random = np.random.default_rng(seed)
    labelled, unlabelled = (
        random.permutation(np.flatnonzero(kind))[:_MOST_IMAGES] for kind in (labels >= 0, labels < 0)
    )
    repeated = np.bincount(labels[labelled], minlength=1)[labels[labelled]] > 1
    if repeated.sum() < _FEWEST_IMAGES or not len(unlabelled):
        return None
    rows = np.concatenate([labelled, unlabelled])
    points, labels = points[rows], labels[rows]
    return float(np.mean([_share_by_turns(points, labels, random) for _ in range(_DIVISIONS)]))


def _share_by_turns(points: np.ndarray, labels: np.ndarray, random: np.random.Generator) -> float:
    held_out, unlabelled = [], []
    for left_out in _turns(labels, random):
        kept = labels.copy()
        kept[left_out] = -1
        nearness = _nearness(points, kept)  # [N]
        held_out.append(nearness[left_out])
        unlabelled.append(nearness[labels < 0])
    return share_of_positives(np.concatenate(held_out), np.concatenate(unlabelled))


def share_of_positives(positives: np.ndarray, mixed: np.ndarray) -> float:
    """The share of positives among the scores ``mixed`` [M], by scores of ``positives`` [P] that are like them.

    Whatever the share s is, of ``mixed`` at least s times as many as of ``positives`` reach a score t:
    s ≤ M(t)/P(t), with M and P the shares that reach t; both are the same at a t that no negative reaches. The ratio is
    taken where its upper confidence limit, by two standard errors of P(t), is least. (Garg et al., 2021, "Mixture
    proportion estimation and PU learning", take the least limit in the same spirit.)

    >>> share_of_positives(np.arange(10.0), np.concatenate([np.arange(10.0), np.full(30, -1.0)]))
    0.25
    """
    scores = np.sort(positives)[::-1]
    first = max(_FEWEST_IMAGES, round(_LEAST_SHARE * len(scores)))
    reached = np.arange(first, len(scores) + 1) / len(scores)  # P(t) at the t of each score from the first on
    below = np.searchsorted(np.sort(mixed), scores[first - 1 :], side="left")
    ratio = (1 - below / len(mixed)) / reached
    limit = ratio * (1 + 2 * np.sqrt((1 - reached) / (reached * len(scores))))
    return float(min(1.0, ratio[limit.argmin()]))


def _turns(labels: np.ndarray, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Rows that are left out together, each labelled image once; of every class at least one image stays."""
    turn = np.full(len(labels), -1)
    for known in range(labels.max(initial=-1) + 1):
        rows = random.permutation(np.flatnonzero(labels == known))
        if len(rows) > 1:
            turn[rows] = np.arange(len(rows)) % _PARTS
    for number in range(turn.max(initial=-1) + 1):
        yield np.flatnonzero(turn == number)


def _nearness(points: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The cosine [N] between each point and the nearest class mean, whitened by the labels."""
    labelled = labels >= 0
    seen = directions(points @ equalizing(around_class_means(points[labelled], labels[labelled])))
    means = labelled_means(seen, labels, np.unique(labels[labelled]))
    return np.asarray((seen @ directions(means).T).max(axis=1))
