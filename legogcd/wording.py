"""Counts, shares, sizes, times and lists of names as they stand in a message."""

from collections.abc import Mapping, Sequence


def counted(n: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{n} {noun if n == 1 else plural}"


def some_of(names: Sequence[str], most: int) -> str:
    """The first names, quoted and so on one line, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def left_out(unreadable: Mapping[str, str]) -> str:
    """What to say of images that could not be read, by name with the reason.

    >>> left_out({"a.jpg": "not an image"})
    "1 unreadable image left out: 'a.jpg (not an image)'"
    """
    named = [f"{name} ({reason})" for name, reason in unreadable.items()]
    return f"{counted(len(named), 'unreadable image')} left out: {some_of(named, 5)}"


def percent(share: float | None) -> str:
    """A share of one as percent with one digit; a dash where there is none."""
    return "–" if share is None or share != share else f"{100 * share:.1f}"


def human_bytes(size: float) -> str:
    """A size as people write it.

    >>> human_bytes(1_500_000_000)
    '1.5 GB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def human_seconds(seconds: float) -> str:
    """A time as people say it.

    >>> [human_seconds(s) for s in (0.4, 75, 600, 9000)]
    ['under a second', '75 seconds', '10 minutes', '2.5 hours']
    """
    if seconds < 1:
        return "under a second"
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"
