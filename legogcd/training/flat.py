"""Whether a training still improves, as far as its loss can tell: nothing here knows the truth."""

from collections.abc import Sequence

WINDOW, SHARE = 10, 0.01


def flat_at(losses: Sequence[float], window: int = WINDOW, share: float = SHARE) -> int | None:
    """After how many epochs the mean loss of ``window`` is less than ``share`` below that of as many before, if ever.

    >>> flat_at([8, 4, 2, 1, 1, 1, 1], window=2)
    7
    >>> flat_at([8, 4, 2, 1], window=2) is None
    True
    """
    for end in range(2 * window, len(losses) + 1):
        before, last = sum(losses[end - 2 * window : end - window]), sum(losses[end - window : end])
        if last > before - share * abs(before):
            return end
    return None
