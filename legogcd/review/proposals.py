"""A group's own parts, side by side: what a split could look like."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_MOST_PARTS = 8
_SAMPLE = 2000  # images the parts are found on; the others go to the nearest
_STARTS = 4
_FEWEST = 4  # images of a group that can have parts
_SMALLEST = 0.02  # share of the images below which a part does not count when the number is chosen


@dataclass(frozen=True, eq=False)
class Part:
    """Images [n], those nearest to the middle first among ``typical``."""

    rows: NDArray[np.int64]
    typical: list[int]


def parts_of(members: NDArray[np.int64], points: NDArray[np.float32], parts: int | None) -> list[Part]:
    """Parts of a group with images ``members`` [n] and their features [n, D], largest first.

    Where ``parts`` is None, that number from 2 to 8 is taken under which images are most clearly nearer to their own
    part than to the next one (mean silhouette by centers); few groups have more kinds in them.
    """
    if len(members) < _FEWEST:
        return [_part(members, points)]
    from sklearn.cluster import KMeans

    random = np.random.default_rng(0)
    sample = np.sort(random.permutation(len(members))[:_SAMPLE])
    wanted = [min(parts, len(sample))] if parts else range(2, min(_MOST_PARTS, len(sample) // 2) + 1)
    best: tuple[float, NDArray[np.float32]] | None = None
    for count in wanted:
        found = KMeans(count, n_init=_STARTS, random_state=0).fit(points[sample])
        clear = _clearness(points[sample], found.cluster_centers_, found.labels_)
        if best is None or clear > best[0]:
            best = (clear, found.cluster_centers_.astype(np.float32))
    assert best is not None
    nearest = _nearest(points, best[1])
    found_parts = [
        _part(members[nearest == n], points[nearest == n]) for n in range(len(best[1])) if (nearest == n).any()
    ]
    return sorted(found_parts, key=lambda part: (-len(part.rows), int(part.rows[0])))


def _nearest(points: NDArray[np.float32], centers: NDArray[np.float32]) -> NDArray[np.int64]:
    found: NDArray[np.int64] = (points @ centers.T - (centers**2).sum(1) / 2).argmax(1)
    return found


def _clearness(points: NDArray[np.float32], centers: NDArray[np.float32], labels: NDArray[np.int32]) -> float:
    """Silhouette with distances to centers, each point's own as it would be without it (small parts would always look
    clear otherwise); parts that are next to nothing make a number worse."""
    distance = np.sqrt(np.maximum(((points[:, None] - centers[None]) ** 2).sum(2), 0))
    sizes = np.bincount(labels, minlength=len(centers))[labels]
    own = distance[np.arange(len(points)), labels] * sizes / np.maximum(sizes - 1, 0.5)
    distance[np.arange(len(points)), labels] = np.inf
    other = distance.min(1)
    small = (np.bincount(labels, minlength=len(centers)) < max(2, _SMALLEST * len(points))).mean()
    return float(((other - own) / np.maximum(np.maximum(own, other), 1e-9)).mean() - small)


def _part(rows: NDArray[np.int64], points: NDArray[np.float32], most: int = 8) -> Part:
    score = points @ points.mean(0)
    return Part(rows, rows[np.lexsort((rows, -score))][:most].tolist())
