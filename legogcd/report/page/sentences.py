"""Findings in words a person who never trained a model can act on."""

from collections.abc import Callable
from dataclasses import dataclass

from legogcd.report.page.findings import TWO_PARTS, Finding
from legogcd.report.page.sorting import Sorting
from legogcd.wording import counted

Sentence = Callable[[Finding, Sorting], str]


@dataclass(frozen=True)
class Kind:
    """A kind of suspicion: what it is called, what to do about it, and how one is told."""

    key: str
    title: str
    advice: str
    nothing: str
    sentence: Sentence


def percent(share: float) -> str:
    """A share of one for people.

    >>> percent(0.254).replace(chr(160), "_"), percent(0.9996).replace(chr(160), "_")
    ('25_%', 'over_99_%')
    """
    text = "over 99 %" if share > 0.995 else f"{100 * share:.0f} %"
    return text.replace(" ", "\u00a0")  # never broken over two lines


def _wrong_label(finding: Finding, sorting: Sorting) -> str:
    given, other = (sorting.groups[group] for group in finding.groups)
    alike, own = finding.values
    return (
        f"{sorting.names[finding.images[0]]} is labelled {given}, but looks more like {other} "
        f"(similarity {alike:.2f} against {own:.2f})."
    )


def _duplicate(finding: Finding, sorting: Sorting) -> str:
    names = [sorting.groups[group] for group in finding.groups]
    what = "These two images look" if len(finding.images) == 2 else f"These {len(finding.images)} images look"
    where = f"all in {names[0]}" if len(names) == 1 and len(finding.images) > 2 else f"both in {names[0]}"
    if len(names) > 1:
        where = f"yet they are in different categories: {', '.join(names)}"
    return f"{what} like the same picture, {where}."


def _outlier(finding: Finding, sorting: Sorting) -> str:
    sure, nearer = finding.values
    name = sorting.groups[finding.groups[0]]
    return (
        f"{sorting.names[finding.images[0]]} fits nowhere well: the best match is {name} at {percent(sure)}, "
        f"and {percent(nearer)} of the images there are more typical."
    )


def _like_two(finding: Finding, sorting: Sorting) -> str:
    apart, larger, smaller = finding.values
    return (
        f"{sorting.groups[finding.groups[0]]} looks like two kinds: its images fall into parts of "
        f"{larger:.0f} and {smaller:.0f} (separation {apart:.2f}; {TWO_PARTS} or more is listed here)."
    )


def _like_one(finding: Finding, sorting: Sorting) -> str:
    first, second = (sorting.groups[group] for group in finding.groups)
    return (
        f"{first} and {second} look like one kind: their centers are only {finding.values[0]:.2f} "
        f"of a group's own width apart."
    )


KINDS = (
    Kind(
        "wrong-labels",
        "Possible wrong labels",
        "Check these labels first: each one teaches the model something that may be false.",
        "No label stands out: every labelled image looks most like the others of its class, or nearly so.",
        _wrong_label,
    ),
    Kind(
        "duplicates",
        "Near-duplicates",
        "The same picture twice makes a group look larger and surer than it is.",
        "No two images look like the same picture.",
        _duplicate,
    ),
    Kind(
        "outliers",
        "Images that fit nowhere",
        "Often a bad photo, a wrong file, or the only example of something rare.",
        "No image lies far outside every group.",
        _outlier,
    ),
    Kind(
        "like-two",
        "Groups that look like two",
        "If you see two kinds, take one out with legogcd split, or run again with more classes.",
        "No group falls apart into two.",
        _like_two,
    ),
    Kind(
        "like-one",
        "Groups that look like one",
        "If you see one kind, join them with legogcd merge, or run again with fewer classes.",
        "No two groups lie close enough to be one.",
        _like_one,
    ),
)


def border_sentence(group: str, nearest: str, cosine: float, closer: int, size: int) -> str:
    """How a group and the known class nearest to it differ.

    >>> border_sentence("new-001", "owl", 0.4, 2, 30)
    'Nearest known class: owl (similarity 0.40, clearly apart). 2 of the 30 images lie closer to its center.'
    """
    how = "hard to tell apart" if cosine >= 0.85 else "related" if cosine >= 0.6 else "clearly apart"
    lie = "lies" if closer == 1 else "lie"
    count = "None" if closer == 0 else str(closer)
    return (
        f"Nearest known class: {nearest} (similarity {cosine:.2f}, {how}). "
        f"{count} of the {counted(size, 'image')} {lie} closer to its center."
    )


def summary_line(sorting: Sorting, unsure: int) -> str:
    """The run in one sentence."""
    new = int((~sorting.known).sum())
    return (
        f"{counted(len(sorting.names), 'image')} in {counted(int(sorting.known.sum()), 'known class')} "
        f"and {counted(new, 'new group')}; the model is unsure of {counted(unsure, 'image')}."
    )
