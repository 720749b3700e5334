"""How many of the unlabelled images are of known classes, as far as the labels can tell."""

from collections.abc import Iterator

import numpy as np

from legogcd.clustering import directions
from legogcd.methods.labelled_means import labelled_means
from legogcd.methods.legogcd_plus.whitening import within_classes

_MOST_DIVISIONS, _FEWEST_DIVISIONS = 20, 3  # how often the labelled images are divided anew
_DIVIDED = 5e10  # images times squared dimensions in all divisions: with very many of them a few are enough
_PARTS = 5  # into how many parts each time, which are left out in turns
_MOST_IMAGES = 5_000  # labelled images, and as many unlabelled ones, are looked at
_FEWEST_IMAGES = 5  # a bound is read from at least so many labelled images
_LEAST_SHARE = 0.2  # and from at least this share of them
_CAUTION = 0.1  # the share that is held to is so much lower than the one that was found, less where few seem new


def known_share(points: np.ndarray, labels: np.ndarray, seed: int) -> float | None:
    """The share of the unlabelled images that are of known classes; None where too few are labelled to tell.

    Labelled images stand for all images of their classes. Left out in turns, they show how near such images come to a
    known class, and `shares_of_positives` holds that against the unlabelled ones. Some images of new classes come as
    near: as many as do of a known class whose own mean is not looked at. What they add is taken off again: of a share s
    of known images and a part q of all others, s + (1 − s)·q are found. Means over several ways to take turns count.
    ``points`` [N, d] are features along their principal axes, whitened here without the labels that are left out;
    ``labels`` [N] are classes, -1 for none. At most 5,000 labelled and as many unlabelled images are looked at.

    It can tell only as well as the labelled images were chosen at random, and as new classes are to known ones what
    known ones are to each other.
    """
    random = np.random.default_rng(seed)
    rows = looked_at(labels, random)
    return share_among(points[rows], labels[rows], random)


def surely_known(found: float) -> float:
    """The share of the unlabelled images to hold to where a `known_share` was found, which may be too high.

    A tenth less where half or more of them seem new. Where few do, a tenth of all images would be a multiple of those,
    so the caution goes down with their square.

    >>> [round(surely_known(found), 3) for found in (0.05, 0.4, 0.5, 0.7, 0.9, 1.0)]
    [0.0, 0.3, 0.4, 0.664, 0.896, 1.0]
    """
    caution = _CAUTION * min(1.0, 2 * (1 - found)) ** 2
    return max(0.0, found - caution)


def looked_at(labels: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The rows that `known_share` looks at, labelled ones first."""
    kinds = (labels >= 0, labels < 0)
    return np.concatenate([random.permutation(np.flatnonzero(kind))[:_MOST_IMAGES] for kind in kinds])


def share_among(points: np.ndarray, labels: np.ndarray, random: np.random.Generator) -> float | None:
    """`known_share` of the images that are looked at."""
    known = labels[labels >= 0]
    repeated = np.bincount(known, minlength=1)[known] > 1
    if repeated.sum() < _FEWEST_IMAGES or len(known) == len(labels):
        return None
    times = divisions_for(*points.shape)
    found, alike = np.mean([_shares_by_turns(points, labels, random) for _ in range(times)], axis=0)
    n = len(np.unique(known))
    alike = 1 - (1 - alike) ** (n / max(1, n - 1))  # a new class has one mean more to be near to
    return max(0.0, float((found - alike) / (1 - alike))) if alike < 1 else 0.0


def divisions_for(n_images: int, dim: int) -> int:
    """How often the labelled images are divided anew: 20 times, fewer where images and dimensions are very many.

    >>> divisions_for(7_000, 588), divisions_for(10_000, 1_280)
    (20, 3)
    """
    return max(_FEWEST_DIVISIONS, min(_MOST_DIVISIONS, int(_DIVIDED / (n_images * dim**2))))


def _shares_by_turns(points: np.ndarray, labels: np.ndarray, random: np.random.Generator) -> list[float]:
    """Which share of the unlabelled images, and of known images without their class, passes for known."""
    held_out, unlabelled, strangers = [], [], []
    for left_out in _turns(labels, random):
        kept = labels.copy()
        kept[left_out] = -1
        nearness, classes = _nearness(points, kept)  # [N, C]
        held_out.append(nearness[left_out].max(axis=1))
        unlabelled.append(nearness[labels < 0].max(axis=1))
        if len(classes) > 1:
            others = np.where(classes == labels[left_out, None], -np.inf, nearness[left_out])
            strangers.append(others.max(axis=1))
    mixed = [np.concatenate(part) for part in (unlabelled, strangers) if part]
    shares = shares_of_positives(np.concatenate(held_out), *mixed)
    return [*shares, 0.0][:2]


def shares_of_positives(positives: np.ndarray, mixed: np.ndarray, *others: np.ndarray) -> list[float]:
    """The share of positives among the scores ``mixed`` [M], by scores of ``positives`` [P] that are like them.

    Whatever the share s is, of ``mixed`` at least s times as many as of ``positives`` reach a score t:
    s ≤ M(t)/P(t), with M and P the shares that reach t; both are the same at a t that no negative reaches. The ratio is
    taken where its upper confidence limit, by two standard errors of P(t), is least. (Garg et al., 2021, "Mixture
    proportion estimation and PU learning", take the least limit in the same spirit.) Behind it stand the ratios of
    ``others`` at the same t.

    >>> shares_of_positives(np.arange(10.0), np.concatenate([np.arange(10.0), np.full(30, -1.0)]))
    [0.25]
    """
    scores = np.sort(positives)[::-1]
    first = max(_FEWEST_IMAGES, round(_LEAST_SHARE * len(scores)))
    reached = np.arange(first, len(scores) + 1) / len(scores)  # P(t) at the t of each score from the first on
    ratios = [_reaching(part, scores[first - 1 :]) / reached for part in (mixed, *others)]
    limit = ratios[0] * (1 + 2 * np.sqrt((1 - reached) / (reached * len(scores))))
    return [min(1.0, float(ratio[limit.argmin()])) for ratio in ratios]


def _reaching(scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """The share of the scores that reach each threshold."""
    return np.asarray(1 - np.searchsorted(np.sort(scores), thresholds, side="left") / len(scores))


def _turns(labels: np.ndarray, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Rows that are left out together, each labelled image once; of every class at least one image stays."""
    turn = np.full(len(labels), -1)
    for known in range(labels.max(initial=-1) + 1):
        rows = random.permutation(np.flatnonzero(labels == known))
        if len(rows) > 1:
            turn[rows] = np.arange(len(rows)) % _PARTS
    for number in range(turn.max(initial=-1) + 1):
        yield np.flatnonzero(turn == number)


def _nearness(points: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cosines [N, C] between each point and each class mean, whitened by the labels; and those classes [C]."""
    labelled = labels >= 0
    seen = points @ within_classes(points[labelled], labels[labelled])
    directions(seen, out=seen)
    classes = np.unique(labels[labelled])
    return seen @ directions(labelled_means(seen, labels, classes)).T, classes
