"""What every kind of finding has."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from legogcd.clustering.near_duplicates import Fingerprints
from legogcd.report.page.grouped_images import GroupedImages

__all__ = ["Finding", "FindingKind", "Fingerprints", "Search", "most_typical"]


@dataclass(frozen=True)
class Finding:
    """Images and groups that are suspicious together, and the numbers that say so."""

    images: tuple[int, ...]
    groups: tuple[int, ...]
    values: tuple[float, ...] = ()


Search = Callable[[GroupedImages, np.ndarray, Fingerprints], list[Finding]]
"""From the images, their features at length 1 [N, D], and the fingerprints of those it asks for."""


@dataclass(frozen=True)
class FindingKind:
    """A kind of finding: how it is searched for, what it is called, what to do about it, and how one is told."""

    key: str  # of its place on the page
    title: str
    advice: str
    nothing: str  # what to say where there is none
    search: Search
    sentence: Callable[[Finding, GroupedImages], str]


def most_typical(units: np.ndarray, rows: np.ndarray, center: np.ndarray, most: int = 3) -> tuple[int, ...]:
    """Those of ``rows`` [n] whose features are nearest to a center [D]."""
    nearest: list[int] = rows[np.argsort(-(units[rows] @ center), kind="stable")][:most].tolist()
    return tuple(nearest)
