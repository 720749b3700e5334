"""Images that fit no category and look alike: candidates for a category of their own."""

import numpy as np

from legogcd.clustering.candidates import FEWEST, candidate_groups
from legogcd.evaluation.strangers import FALSE_ALARMS
from legogcd.report.page.findings.finding import Finding, FindingKind, most_typical
from legogcd.report.page.grouped_images import GroupedImages
from legogcd.report.page.sentences import percent

_SHOWN = 6  # of a candidate group


def strangers(images: GroupedImages, units: np.ndarray, most: int = 20) -> list[Finding]:
    """Candidate groups among the unlabelled images that `legogcd predict` would call strangers, the largest first.

    Only such as are as much alike as the images of the least uniform category. ``groups``: where most of them were put.
    ``values``: how many they are, and how many of those are there.
    """
    if images.strangeness is None:
        return []
    rows = np.flatnonzero((images.strangeness > 1 - FALSE_ALARMS) & ~images.labelled)
    candidate = candidate_groups(units[rows])
    categories = (units[images.members(group)] for group in range(len(images.groups)))
    least = min((_likeness(members) for members in categories if len(members) >= FEWEST), default=1.0)
    found = []
    for number in range(min(most, int(candidate.max(initial=-1)) + 1)):
        alike = rows[candidate == number]
        if _likeness(units[alike]) < least:
            continue
        put = np.bincount(images.group[alike], minlength=len(images.groups))
        shown = most_typical(units, alike, units[alike].mean(axis=0), _SHOWN)
        found.append(Finding(shown, (int(put.argmax()),), (float(len(alike)), float(put.max()))))
    return found


def _likeness(units: np.ndarray) -> float:
    """The mean cosine between two of some directions [n, D]."""
    count = len(units)
    return float((np.square(units.sum(axis=0, dtype=np.float64)).sum() - count) / (count * (count - 1)))


def _sentence(finding: Finding, images: GroupedImages) -> str:
    alike, there = finding.values
    where = "all" if there == alike else f"{there:.0f}"
    return (
        f"{alike:.0f} images that look like none of the categories look like each other; {where} of them were put into "
        f"{images.groups[finding.groups[0]]}."
    )


STRANGERS = FindingKind(
    key="strangers",
    title="Strangers that look alike",
    advice=(
        "They may be a category nobody counted: take them out with legogcd split, or run again with more categories. "
        f"About {percent(FALSE_ALARMS)} of the images that do belong look as strange."
    ),
    nothing="No three images that look like none of the categories look like each other.",
    search=lambda images, units, _: strangers(images, units),
    sentence=_sentence,
)
