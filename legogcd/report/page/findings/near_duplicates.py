"""The same picture more than once."""

from collections.abc import Iterable

import numpy as np

from legogcd.clustering.near_duplicates import near_duplicate_sets
from legogcd.report.page.findings.finding import Finding, FindingKind, Fingerprints
from legogcd.report.page.grouped_images import GroupedImages


def near_duplicates(
    images: GroupedImages, units: np.ndarray, fingerprints: Fingerprints, most: int = 50
) -> list[Finding]:
    """Sets of images that are one picture, by the rule that training goes by.

    Sets across categories come first. ``values``: the least cosine within the set.
    """
    return listed_sets(images, units, near_duplicate_sets(units, fingerprints))[:most]


def listed_sets(images: GroupedImages, units: np.ndarray, sets: Iterable[tuple[int, ...]]) -> list[Finding]:
    """Sets of images that are one picture as findings, those across categories first."""
    found = []
    for members in sets:
        groups = tuple(dict.fromkeys(images.group[list(members)].tolist()))
        cosines = units[list(members)] @ units[list(members)].T
        found.append(Finding(members, groups, (float(cosines.min()),)))
    found.sort(key=lambda finding: (-len(finding.groups), -finding.values[0], finding.images))
    return found


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
