"""How much memory each phase of a run needs, added up from the arrays it holds; nothing but arithmetic.

Mapped files, such as kept views, are the system's to drop and do not count. What these sums say is held against what
processes take in tests/run/test_memory_need.py and by ``python -m bench.speed.memory``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

MOST_SHOWN, SAMPLED = 50_000, 20_000  # images that are all in a report; how many it is about where there are more
_LOOKED_AT = 10_000  # images from which the share of known classes is told
_NAME = 400  # bytes an image: name, label, rows
_ROW = 2_200  # bytes more once it is sorted: the table, and the text it is written as and read from
_PAGE = 80_000_000  # a report's thumbnails and its text
_LOADED_LATER = 170_000_000  # libraries that a start or a report asks for
_SINGLE, _DOUBLE = 4, 8  # bytes


@dataclass(frozen=True)
class Held:
    """What a process was seen to hold, in bytes: with everything loaded, while encoding, training, and after it."""

    loaded: int
    encoding: int
    training: int
    trained: int


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes that each phase of a run needs at most; the largest counts."""

    encoding: int
    start: int
    training: int
    sorting: int
    report: int

    @property
    def most(self) -> int:
        return max(amount for _, amount in self.phases())

    def phases(self) -> Iterator[tuple[str, int]]:
        return ((field.name, getattr(self, field.name)) for field in fields(self))


def memory_need(
    held: Held, images: int, labelled: int, classes: int, dim: int, clustered: int, seen: int | None = None
) -> MemoryNeed:
    """Of a run of ``images`` of which some are ``labelled``, with features of ``dim`` dimensions.

    ``clustered`` images are looked at for a start, 0 where there is none; ``seen`` is how many dimensions are whitened.

    >>> held = Held(loaded=340_000_000, encoding=600_000_000, training=700_000_000, trained=450_000_000)
    >>> need = memory_need(held, 100_000, 25_000, 1_000, 1280, clustered=50_000, seen=1280)
    >>> [round(amount / 1e9, 1) for _, amount in need.phases()]
    [0.6, 1.5, 0.7, 0.7, 1.5]
    """
    names = images * _NAME
    start = start_arrays(clustered, labelled * clustered // max(1, images), classes, dim, seen) if clustered else 0
    return MemoryNeed(
        encoding=held.encoding + names,
        start=held.loaded + names + start,
        training=held.training + names,
        sorting=held.trained + names + sorting_arrays(images, classes),
        report=held.trained + names + report_arrays(images, classes, dim),
    )


def start_arrays(images: int, labelled: int, classes: int, dim: int, seen: int | None = None) -> int:
    """Of the prototypes' start: features, what is seen of them at length 1, its centered copy and a quarter of it."""
    features, width = _SINGLE * images * dim, seen or dim
    clustering = features + 9 * images * width
    products = 6 * _DOUBLE * max(dim, classes) * dim
    if seen is None:
        return clustering + products + _LOADED_LATER
    looked_at = min(images, _LOOKED_AT)
    axes = 2 * features + _SINGLE * images * width
    within = features + _SINGLE * width * (looked_at + labelled) + 2 * _DOUBLE * width * labelled
    share = features + looked_at * (_SINGLE * width + 3 * _DOUBLE * width + 2 * _DOUBLE * classes)
    return max(axes, within, share, clustering) + products + _LOADED_LATER


def sorting_arrays(images: int, classes: int) -> int:
    """Of sorting and scoring: the table of a run, and that of classes and clusters."""
    return images * _ROW + 4 * _DOUBLE * classes**2


def report_arrays(images: int, classes: int, dim: int) -> int:
    """Of a report: the table, features three times while the map is drawn, probabilities three times."""
    shown = images if images <= MOST_SHOWN else SAMPLED
    arrays = _SINGLE * shown * (3 * dim + 3 * classes)
    return images * _ROW + arrays + _PAGE + _LOADED_LATER
