"""Which images are one picture: copies, versions and shots of a burst. The one place that decides it.

Two images are one picture if their features point roughly the same way and their fingerprints, gray pictures of 48 by
48 pixels, are the same up to light and a little cropping. Features find the few pairs worth a look among all N²/2;
pixels decide, because two photos of one kind can have the same features.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
Fingerprints = Callable[[Rows], NDArray[np.uint8]]
"""Small gray pictures [n, 48, 48] of some rows [n], all 0 where there is none."""

RULE = 1  # which version of the rule this is: what was found by another one is searched for again
ALIKE = 0.7  # cosine of two features from which a look at the pixels pays; a copy at half the size can be at 0.75
ROUGHLY_SAME = 0.9  # correlation of a picture's outline with one of a part of the other, from which a closer look pays
SAME_PICTURE = 0.915  # correlation of the details of two pictures' common part; measured in docs/accuracy.md
SAME_EVERYWHERE = 0.5  # of the contrast: what a place may differ by
_NEAREST = 8  # images that are looked at for each one
_CELL = 4096  # images among which all pairs are compared; larger collections are divided into cells
_CELLS_SEARCHED = 4  # the nearest ones to an image, its own first
_BLOCK = 1 << 22  # cosines in memory at once
_PAIRS = 1024  # pairs of outlines in memory at once
_SIDE, _SEEN, _ROUGH = 48, 32, 12  # pixels of a fingerprint's side, of what is compared of it, and at first sight
_TILE = 8  # pixels of what is compared: a place
_CUTS = np.arange(8) * 0.02  # of a side: how much of it may be missing in the other picture
_MIDDLE = 3 * len(_CUTS) + 3  # both ends cut by 0.06
_BLUR = 2.0  # pixels: what differs over longer distances is light, and a background that many photos share
_FINEST = 0.8  # pixels: what a blur this small takes away is a picture's finest detail
_LEAST_DETAIL = 0.1  # of a picture's contrast: drawings and tiny pictures have less, and details cannot tell them apart
_NO_CHANGE = 3.0  # of 255, on average: only what differs by less is one picture where details cannot tell


def near_duplicate_sets(units: NDArray[np.floating], fingerprints: Fingerprints) -> list[tuple[int, ...]]:
    """Sets of rows that are one picture, each ascending, in the order of their first rows.

    ``units`` [N, D] are features at length 1. Only images that resemble another one are asked for a fingerprint. Time
    grows with N·√N, memory with N.
    """
    pairs = alike_pairs(units)
    rows = np.unique(pairs)
    if not rows.size:
        return []
    pictures = fingerprints(rows)
    places = np.searchsorted(rows, pairs)
    chunks = np.array_split(places, -(-len(places) // _PAIRS))
    likely = np.concatenate([roughly_same(pictures, chunk) for chunk in chunks])
    same = [same_picture(pictures[first], pictures[second]) for first, second in places[likely]]
    return connected(pairs[likely][np.array(same, bool)])


def alike_pairs(units: NDArray[np.floating]) -> Rows:
    """Pairs of rows [m, 2], the smaller one first, of each image and the few nearest whose features are alike."""
    near, cosine = _nearest(np.asarray(units, np.float32))
    row, place = np.nonzero(cosine >= ALIKE)
    other = near[row, place]
    numbers = np.unique(np.minimum(row, other) * len(units) + np.maximum(row, other))  # pairs sort slower
    return np.stack(np.divmod(numbers, len(units)), axis=1)


def _nearest(units: Floats) -> tuple[Rows, Floats]:
    """The nearest rows of each row [N, n] and their cosines, -1 where there are fewer; itself is not among them."""
    near = np.zeros((len(units), _NEAREST), np.int64)
    cosine = np.full((len(units), _NEAREST), -1, np.float32)
    for seekers, members in _searches(units):
        for block in np.array_split(seekers, -(-len(seekers) * len(members) // _BLOCK) or 1):
            found = units[block] @ units[members].T
            found[block[:, None] == members] = -1
            rows = np.concatenate([near[block], np.broadcast_to(members, found.shape)], axis=1)
            found = np.concatenate([cosine[block], found], axis=1)
            best = _best_places(found)
            near[block], cosine[block] = (np.take_along_axis(each, best, axis=1) for each in (rows, found))
    return near, cosine


def _best_places(cosines: Floats) -> Rows:
    """Where the largest of each row [n, m] are, the largest first: [n, 8]."""
    few = min(_NEAREST, cosines.shape[1])
    chosen = np.sort(np.argpartition(-cosines, few - 1, axis=1)[:, :few], axis=1)
    order = np.argsort(-np.take_along_axis(cosines, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


def _searches(units: Floats) -> Iterator[tuple[Rows, Rows]]:
    """Who looks for neighbours among whom: all among all, or in a large collection each in the cells nearest to it."""
    if len(units) <= _CELL:
        yield np.arange(len(units)), np.arange(len(units))
        return
    chosen = np.random.default_rng(0).choice(len(units), round(len(units) ** 0.5), replace=False)
    cells = np.empty((len(units), _CELLS_SEARCHED), np.int64)
    for begin in range(0, len(units), _CELL):
        nearness = units[begin : begin + _CELL] @ units[chosen].T
        cells[begin : begin + _CELL] = np.argsort(-nearness, axis=1, kind="stable")[:, :_CELLS_SEARCHED]
    searched = np.argsort(cells, axis=None, kind="stable")
    own = np.argsort(cells[:, 0], kind="stable")
    seekers = np.split(searched // _CELLS_SEARCHED, np.cumsum(np.bincount(cells.ravel(), minlength=len(chosen)))[:-1])
    members = np.split(own, np.cumsum(np.bincount(cells[:, 0], minlength=len(chosen)))[:-1])
    yield from ((who, among) for who, among in zip(seekers, members, strict=True) if who.size and among.size)


def same_picture(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> bool:
    """Whether two small pictures [48, 48] are one, whatever the light; one may be a part of the other.

    >>> picture = np.random.default_rng(0).integers(0, 200, (48, 48), np.uint8)
    >>> same_picture(picture, picture // 2 + 20), same_picture(picture, picture[::-1])
    (True, False)
    """
    one, other = first.astype(np.float32), second.astype(np.float32)
    if not one.any() or not other.any():
        return False
    if min(_share_of_detail(one), _share_of_detail(other)) < _LEAST_DETAIL:
        return bool(np.abs(one - other).mean() < _NO_CHANGE)
    return _is_part(one, other) or _is_part(other, one)


def _share_of_detail(picture: Floats) -> float:
    """How much of the contrast of a picture [48, 48] is in its finest detail; 0 where it has none."""
    seen = _SHRINKING[0] @ picture @ _SHRINKING[0].T
    finest = seen - _SHARPEST @ seen @ _SHARPEST.T
    return float(np.linalg.norm(finest)) / max(float(np.linalg.norm(seen - seen.mean())), 1.0)


def _is_part(part: Floats, whole: Floats) -> bool:
    """Whether a picture [48, 48] is a part of another: details agree, and no place is something else in one of them.

    The ends that are cut above and below are searched for with those left and right held, and the other way round.
    """
    seen = _SHRINKING[0] @ part @ _SHRINKING[0].T
    wanted, across, best, fitting = _details(seen), _MIDDLE, -1.0, seen
    for _ in range(2):
        down = int(_agreement(_SHRINKING @ (whole @ _SHRINKING[across].T), wanted).argmax())
        candidates = (_SHRINKING[down] @ whole) @ _SHRINKING.transpose(0, 2, 1)
        found = _agreement(candidates, wanted)
        across = int(found.argmax())
        if found[across] > best:
            best, fitting = float(found[across]), candidates[across]
    return best >= SAME_PICTURE and worst_place(fitting, seen) <= SAME_EVERYWHERE


def worst_place(first: Floats, second: Floats) -> float:
    """How much two pictures [32, 32] differ where they differ most, in contrasts of the second, whatever the light.

    A camera that stands still takes the same picture again and again but for what comes by.
    """
    gain, light = np.polyfit(first.ravel(), second.ravel(), 1)
    squared = (gain * first + light - second) ** 2
    tiles = squared.reshape(_SEEN // _TILE, _TILE, _SEEN // _TILE, _TILE).mean(axis=(1, 3))
    return float(np.sqrt(tiles.max()) / max(float(second.std()), 1.0))


def _agreement(pictures: Floats, wanted: Floats) -> Floats:
    """The correlation [m] of pictures' [m, 32, 32] details with some wanted ones [32, 32]."""
    return np.asarray(np.einsum("mrc,rc->m", _details(pictures), wanted))


def _details(pictures: Floats) -> Floats:
    """Pictures [..., 32, 32] without what is left of them when they are blurred, at length 1."""
    fine = pictures - _BLURRING @ pictures @ _BLURRING.T
    fine -= fine.mean(axis=(-2, -1), keepdims=True)
    length = np.sqrt((fine**2).sum(axis=(-2, -1), keepdims=True))
    return np.asarray(fine / np.maximum(length, 1e-3))


def roughly_same(pictures: NDArray[np.uint8], pairs: Rows) -> NDArray[np.bool_]:
    """Which pairs [m, 2] of some pictures [n, 48, 48] are worth a closer look [m]: one's outline is in the other."""
    rows, places = np.unique(pairs, return_inverse=True)
    outlines = _outlines(pictures[rows])  # [rows, 16, 144]
    one, other = (outlines[side] for side in places.reshape(-1, 2).T)
    best = np.maximum((other @ one[:, 0, :, None]).max(axis=(1, 2)), (one @ other[:, 0, :, None]).max(axis=(1, 2)))
    return np.asarray(best >= ROUGHLY_SAME)


def _outlines(pictures: NDArray[np.uint8]) -> Floats:
    """Pictures [m, 48, 48] and fifteen parts of each, with some ends cut, in 144 numbers at length 1, the whole first.

    Each side is shortened for all pictures in one product: products of small matrices are slow.
    """
    count, ways = len(pictures), len(_OUTLINING)
    shorten = _OUTLINING.reshape(-1, _SIDE).T  # [48, 4 · 12]
    across = (pictures.reshape(-1, _SIDE).astype(np.float32) @ shorten).reshape(count, _SIDE, -1)
    both = across.transpose(0, 2, 1).reshape(-1, _SIDE) @ shorten  # [m · 4 · 12, 4 · 12]
    seen = both.reshape(count, ways, _ROUGH, ways, _ROUGH).transpose(0, 1, 3, 2, 4).reshape(count, ways**2, -1)
    seen -= seen.mean(axis=2, keepdims=True)
    return np.asarray(seen / np.maximum(np.linalg.norm(seen, axis=2, keepdims=True), 1e-3))


def _stretches(before: float, after: float, count: int) -> Floats:
    """A map [count, 48] of a side's pixels, with its ends cut, to the means of equal stretches of it."""
    edges = np.linspace(_SIDE * before, _SIDE * (1 - after), count + 1)
    pixels = np.arange(_SIDE)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    return np.asarray(np.maximum(overlap, 0) / (edges[1] - edges[0]), np.float32)


def _blurring(width: float) -> Floats:
    """A map [32, 32] of a side's pixels to means of those around each."""
    apart = np.subtract.outer(np.arange(_SEEN), np.arange(_SEEN))
    weights = np.exp(-0.5 * (apart / width) ** 2)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)


_SHRINKING = np.array([_stretches(before, after, _SEEN) for before in _CUTS for after in _CUTS])  # [64, 32, 48]
_OUTLINING = np.array([_stretches(before, after, _ROUGH) for before in (0, 0.06) for after in (0, 0.06)])  # [4, 12, 48]
_BLURRING, _SHARPEST = _blurring(_BLUR), _blurring(_FINEST)  # [32, 32]


def connected(pairs: Rows) -> list[tuple[int, ...]]:
    """The sets that pairs of rows [m, 2] chain together.

    >>> connected(np.array([[4, 7], [0, 2], [2, 3]]))
    [(0, 2, 3), (4, 7)]
    """
    leader: dict[int, int] = {}

    def lead(row: int) -> int:
        while leader.setdefault(row, row) != row:
            leader[row] = row = leader.setdefault(leader[row], leader[row])
        return row

    for first, second in pairs.tolist():
        leader[lead(second)] = lead(first)
    sets: dict[int, list[int]] = {}
    for row in sorted(leader):
        sets.setdefault(lead(row), []).append(row)
    return [tuple(rows) for rows in sets.values()]
