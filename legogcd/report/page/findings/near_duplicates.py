"""The same picture more than once."""

from collections.abc import Iterator

import numpy as np

from legogcd.report.page.findings.finding import Finding, FindingKind, Fingerprints
from legogcd.report.page.grouped_images import GroupedImages

SAME_PICTURE = 0.95  # cosine of two features from which a second look at the pixels pays
SAME_BITS = 6  # of the 63 bits of a fingerprint; chance pairs differ in about 32
_ALL_PAIRS = 20_000  # larger collections are searched for duplicates within what the model calls one class
_BLOCK = 1024


def near_duplicates(
    images: GroupedImages, units: np.ndarray, fingerprints: Fingerprints, most: int = 50
) -> list[Finding]:
    """Sets of images that look like one picture: features [N, D] nearly parallel and fingerprints nearly equal.

    Sets across categories come first. ``values``: the least cosine within the set.
    """
    pairs = np.array(list(_close_pairs(units, images.predicted)), dtype=np.int64).reshape(-1, 2)
    rows = np.unique(pairs)
    if not rows.size:
        return []
    bits = fingerprints(rows)
    first, second = (bits[np.searchsorted(rows, side)] for side in pairs.T)
    same = (first != second).sum(1) <= SAME_BITS
    same &= (first >= 0).all(1) & (second >= 0).all(1)
    found = []
    for members in _connected(pairs[same]):
        groups = tuple(dict.fromkeys(images.group[list(members)].tolist()))
        cosines = units[list(members)] @ units[list(members)].T
        found.append(Finding(members, groups, (float(cosines.min()),)))
    found.sort(key=lambda finding: (-len(finding.groups), -finding.values[0], finding.images))
    return found[:most]


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


def _sentence(finding: Finding, images: GroupedImages) -> str:
    names = [images.groups[group] for group in finding.groups]
    two = len(finding.images) == 2
    if len(names) > 1:
        where = f"yet they are in different categories: {', '.join(names)}"
    else:
        where = f"{'both' if two else 'all'} in {names[0]}"
    return f"These {'two' if two else len(finding.images)} images look like the same picture, {where}."


NEAR_DUPLICATES = FindingKind(
    key="duplicates",
    title="Near-duplicates",
    advice="The same picture twice makes a group look larger and surer than it is.",
    nothing="No two images look like the same picture.",
    search=near_duplicates,
    sentence=_sentence,
)
