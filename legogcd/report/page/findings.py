"""What in a run deserves a second look: pure functions over arrays, most suspicious first."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from legogcd.report.page.sorting import Sorting

DISAGREEMENT = 0.03  # cosine by which another class must be nearer than the rest of the own one
SAME_PICTURE = 0.95  # cosine of two features from which a second look at the pixels pays
SAME_BITS = 6  # of the 63 bits of a fingerprint; chance pairs differ in about 32
TWO_PARTS = 0.15  # silhouette; on two photo sets pure groups stayed below 0.14, but so do joined kinds that are alike
ONE_SPREAD = 0.65  # distance of centers, in spreads of the groups, below which two look like one
_FEWEST = 10  # images in a group that can look like two
_SILHOUETTE_SAMPLE = 1000
_ALL_PAIRS = 20_000  # larger collections are searched for duplicates within what the model calls one class
_BLOCK = 1024


@dataclass(frozen=True)
class Finding:
    """Images and groups that belong to one suspicion, and the numbers that raised it."""

    images: tuple[int, ...]
    groups: tuple[int, ...]
    values: tuple[float, ...] = ()


def unit(features: np.ndarray) -> np.ndarray:
    """Features [N, D] at length 1; a zero stays zero.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    length = np.linalg.norm(features, axis=-1, keepdims=True)
    directions: np.ndarray = features / np.where(length > 0, length, 1)
    return directions


def centers(units: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
    """The mean feature of each group [G, D]; none is empty."""
    sums = np.zeros((n_groups, units.shape[1]))
    np.add.at(sums, group, units)
    counted: np.ndarray = sums / np.maximum(np.bincount(group, minlength=n_groups), 1)[:, None]
    return counted


def wrong_labels(sorting: Sorting, units: np.ndarray) -> list[Finding]:
    """Labelled images that look more like another labelled class than like the rest of their own: at most 5 % and 50.

    A training image's own probability says little, as the model was taught its label; its feature [D] against the
    mean feature of each class, its own class without it, says more. New groups are left aside: a label is mostly
    mistaken for another label. ``values``: the similarity to the other class, to the rest of its own.
    """
    sums = np.zeros((len(sorting.groups), units.shape[1]))
    np.add.at(sums, sorting.group, units)
    sizes = np.bincount(sorting.group, minlength=len(sorting.groups))
    rows = np.flatnonzero(sorting.labelled & (sizes[sorting.group] > 1))
    own_group = sorting.group[rows]
    alike = units[rows] @ unit(sums).T  # [n, G]
    own = np.einsum("nd,nd->n", units[rows], unit(sums[own_group] - units[rows]))
    alike[:, np.setdiff1d(np.arange(len(sorting.groups)), own_group)] = -np.inf
    alike[np.arange(len(rows)), own_group] = -np.inf
    other = alike.argmax(axis=1)
    lead = alike.max(axis=1) - own
    listed = np.flatnonzero(lead >= DISAGREEMENT)
    most = min(50, int(np.ceil(0.05 * len(rows))))
    return [
        Finding(
            (int(rows[place]),),
            (int(own_group[place]), int(other[place])),
            (float(alike[place, other[place]]), float(own[place])),
        )
        for place in listed[np.argsort(-lead[listed], kind="stable")][:most]
    ]


def near_duplicates(
    sorting: Sorting, units: np.ndarray, fingerprints: Callable[[np.ndarray], np.ndarray], most: int = 50
) -> list[Finding]:
    """Sets of images that look like one picture: features [N, D] nearly parallel and fingerprints nearly equal.

    ``fingerprints`` gives bits [n, 63] for some rows, all -1 where there is no picture. Sets across categories come
    first. ``values``: the least cosine within the set.
    """
    pairs = np.array(list(_close_pairs(units, sorting.predicted)), dtype=np.int64).reshape(-1, 2)
    rows = np.unique(pairs)
    if not rows.size:
        return []
    bits = fingerprints(rows)
    first, second = (bits[np.searchsorted(rows, side)] for side in pairs.T)
    same = (first != second).sum(1) <= SAME_BITS
    same &= (first >= 0).all(1) & (second >= 0).all(1)
    found = []
    for members in _connected(pairs[same]):
        groups = tuple(dict.fromkeys(sorting.group[list(members)].tolist()))
        cosines = units[list(members)] @ units[list(members)].T
        found.append(Finding(members, groups, (float(cosines.min()),)))
    found.sort(key=lambda finding: (-len(finding.groups), -finding.values[0], finding.images))
    return found[:most]


def outliers(sorting: Sorting, units: np.ndarray) -> list[Finding]:
    """Images that fit nowhere: among the tenth the model is least sure of, and far out even for their best group.

    Far is three robust deviations beyond the median distance 1 − cos to the center. ``values``: the probability, and
    the share of the group's images that lie nearer.
    """
    middle = unit(centers(units, sorting.group, len(sorting.groups)))
    distance = 1 - np.einsum("nd,nd->n", units, middle[sorting.predicted])
    unsure = sorting.confidence <= np.quantile(sorting.confidence, 0.1)
    excess = np.zeros(len(units))
    for group in range(len(sorting.groups)):
        members = sorting.predicted == group
        if members.sum() >= 3:
            median = np.median(distance[members])
            deviation = 1.4826 * np.median(np.abs(distance[members] - median))
            excess[members] = (distance[members] - median) / max(deviation, 1e-6)
    rows = np.flatnonzero(unsure & (excess > 3))
    most = min(50, max(5, len(units) // 100))
    ranked = rows[np.argsort(-excess[rows], kind="stable")][:most]
    return [
        Finding(
            (int(row),),
            (int(sorting.predicted[row]),),
            (
                float(sorting.confidence[row]),
                float((distance[sorting.predicted == sorting.predicted[row]] < distance[row]).mean()),
            ),
        )
        for row in ranked
    ]


def groups_like_two(sorting: Sorting, units: np.ndarray) -> list[Finding]:
    """Groups that fall apart into two: 2-means inside leaves a high silhouette and no small part.

    ``images``: the three most typical of each part. ``values``: silhouette, sizes of the parts.
    """
    found = []
    for group in range(len(sorting.groups)):
        members = sorting.members(group)
        if len(members) < _FEWEST:
            continue
        halves = KMeans(2, n_init=4, random_state=0).fit(units[members])
        sizes = np.bincount(halves.labels_, minlength=2)
        if sizes.min() < 0.15 * len(members):  # a few odd ones are outliers, not a second kind
            continue
        chosen = np.linspace(0, len(members) - 1, min(len(members), _SILHOUETTE_SAMPLE)).astype(int)
        apart = float(silhouette_score(units[members[chosen]], halves.labels_[chosen]))
        if apart >= TWO_PARTS:
            order = np.argsort(-sizes, kind="stable")
            typical = [
                _nearest(units, members[halves.labels_ == part], halves.cluster_centers_[part]) for part in order
            ]
            images = tuple(int(row) for rows in typical for row in rows)
            found.append(Finding(images, (group,), (apart, float(sizes.max()), float(sizes.min()))))
    return sorted(found, key=lambda finding: -finding.values[0])


def groups_like_one(sorting: Sorting, units: np.ndarray, most: int = 20) -> list[Finding]:
    """Pairs with at least one new group whose centers are closer than the groups are wide.

    Wide is the root mean square distance to the own center. ``images``: the three most typical of each.
    ``values``: the distance of the centers in mean widths.
    """
    middle = centers(units, sorting.group, len(sorting.groups))
    squared = ((units - middle[sorting.group]) ** 2).sum(1)
    sizes = np.bincount(sorting.group, minlength=len(sorting.groups))
    width = np.sqrt(np.bincount(sorting.group, squared, minlength=len(sorting.groups)) / np.maximum(sizes, 1))
    found = []
    for first in range(len(sorting.groups)):
        for second in range(max(first + 1, int(sorting.known.sum())), len(sorting.groups)):
            if min(sizes[first], sizes[second]) < 3:
                continue
            ratio = float(
                np.linalg.norm(middle[first] - middle[second]) / max((width[first] + width[second]) / 2, 1e-9)
            )
            if ratio < ONE_SPREAD:
                images = [_nearest(units, sorting.members(group), middle[group]) for group in (first, second)]
                rows = tuple(int(row) for three in images for row in three)
                found.append(Finding(rows, (first, second), (ratio,)))
    return sorted(found, key=lambda finding: finding.values[0])[:most]


def _nearest(units: np.ndarray, rows: np.ndarray, center: np.ndarray, most: int = 3) -> np.ndarray:
    return rows[np.argsort(-(units[rows] @ center), kind="stable")][:most]


def _close_pairs(units: np.ndarray, predicted: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pairs of rows with parallel features, each image with the four nearest at most."""
    whole = len(units) <= _ALL_PAIRS
    crowds = [np.arange(len(units))] if whole else [np.flatnonzero(predicted == c) for c in np.unique(predicted)]
    for crowd in crowds:
        for start in range(0, len(crowd), _BLOCK):
            block = units[crowd[start : start + _BLOCK]]
            cosines = block @ units[crowd[start:]].T  # later rows only
            cosines[np.tril_indices(len(block), 0, cosines.shape[1])] = -1
            near = np.argpartition(-cosines, min(3, cosines.shape[1] - 1), axis=1)[:, :4]
            for row, column in np.argwhere(np.take_along_axis(cosines, near, 1) >= SAME_PICTURE):
                yield int(crowd[start + row]), int(crowd[start + near[row, column]])


def _connected(pairs: np.ndarray) -> list[tuple[int, ...]]:
    """The sets that pairs of rows chain together."""
    leader: dict[int, int] = {}

    def lead(row: int) -> int:
        while leader.setdefault(row, row) != row:
            row = leader[row]
        return row

    for first, second in pairs.tolist():
        leader[lead(second)] = lead(first)
    sets: dict[int, list[int]] = {}
    for row in sorted(leader):
        sets.setdefault(lead(row), []).append(row)
    return [tuple(rows) for rows in sets.values()]


def border(sorting: Sorting, group: int, other: int, most: int = 4) -> Sequence[int]:
    """Images where two groups meet: those of each in which the model sees most of the other."""
    sides = []
    for own, foreign in ((group, other), (other, group)):
        rows = sorting.members(own)
        sides += rows[np.argsort(-sorting.belief[rows, foreign], kind="stable")][:most].tolist()
    return sides
