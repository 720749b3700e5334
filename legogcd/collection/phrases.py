"""Counts and lists of names as they stand in a message."""

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
