"""A run in words a person who never trained a model can act on."""

from legogcd.report.page.grouped_images import GroupedImages
from legogcd.wording import counted


def percent(share: float) -> str:
    """A share of one for people.

    >>> percent(0.254).replace(chr(160), "_"), percent(0.9996).replace(chr(160), "_")
    ('25_%', 'over_99_%')
    """
    text = "over 99 %" if share > 0.995 else f"{100 * share:.0f} %"
    return text.replace(" ", "\u00a0")  # never broken over two lines


def border_sentence(nearest: str, cosine: float, closer: int, size: int) -> str:
    """How a group of ``size`` images and the known class nearest to it differ.

    >>> border_sentence("owl", 0.4, 2, 30)
    'Nearest known class: owl (similarity 0.40, clearly apart). 2 of the 30 images lie closer to its center.'
    """
    how = "hard to tell apart" if cosine >= 0.85 else "related" if cosine >= 0.6 else "clearly apart"
    lie = "lies" if closer == 1 else "lie"
    count = "None" if closer == 0 else str(closer)
    return (
        f"Nearest known class: {nearest} (similarity {cosine:.2f}, {how}). "
        f"{count} of the {counted(size, 'image')} {lie} closer to its center."
    )


def summary_line(images: GroupedImages, count: int, unsure: int, learned_from: int | None = None) -> str:
    """The run in one sentence, or two where not all images were learned from."""
    part = f" It learned from {counted(learned_from, 'image')} and sorted the others by that." if learned_from else ""
    new = int((~images.known).sum())
    return (
        f"{counted(count, 'image')} in {counted(int(images.known.sum()), 'known class')} "
        f"and {counted(new, 'new group')}; the model is unsure of {counted(unsure, 'image')}.{part}"
    )
