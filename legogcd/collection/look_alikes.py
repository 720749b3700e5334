"""Names that a person would take for one: they differ only by case, spaces or Unicode form. Said, not merged."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable

from legogcd.wording import counted, some_of

_Same = Callable[[str], str]


def _form(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _spaces(name: str) -> str:
    return re.sub(r"\s+", " ", _form(name)).strip()


def _case(name: str) -> str:
    return _form(_form(name).casefold())


def _case_and_spaces(name: str) -> str:
    return _form(_spaces(name).casefold())


_WAYS: tuple[tuple[str, _Same], ...] = (
    ("Unicode form", _form),
    ("spaces", _spaces),
    ("case", _case),
    ("case and spaces", _case_and_spaces),
)


def look_alikes(names: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Pairs of different names by what alone they differ in; each name stands beside the first it resembles.

    >>> look_alikes(["Owl", "owl", "barn owl", "barn  owl"])
    {'spaces': [('barn  owl', 'barn owl')], 'case': [('Owl', 'owl')]}
    """
    different = sorted(set(names))
    told: set[tuple[str, str]] = set()
    found: dict[str, list[tuple[str, str]]] = {}
    for way, same in _WAYS:
        groups: dict[str, list[str]] = defaultdict(list)
        for name in different:
            groups[same(name)].append(name)
        pairs = [(group[0], other) for group in groups.values() for other in group[1:]]
        new = [pair for pair in pairs if pair not in told]
        told.update(new)
        if new:
            found[way] = new
    return found


def look_alike_warnings(names: Iterable[str], noun: str) -> list[str]:
    """What to say of the look-alikes among ``names``, one line per way in which they differ.

    >>> look_alike_warnings(["Owl", "owl", "cat"], "class")
    ["3 classes, 1 pair differs only by case: 'Owl' and 'owl'"]
    """
    everything = set(names)
    return [
        f"{counted(len(everything), noun)}, {counted(len(pairs), 'pair')} {'differs' if len(pairs) == 1 else 'differ'} "
        f"only by {way}: {_some_pairs(pairs)}"
        for way, pairs in look_alikes(everything).items()
    ]


def _some_pairs(pairs: list[tuple[str, str]], most: int = 3) -> str:
    shown = ", ".join(f"{_shown(one)} and {_shown(other)}" for one, other in pairs[:most])
    return shown if len(pairs) <= most else f"{shown} and {len(pairs) - most} more"


def _shown(name: str) -> str:
    """In quotes; letters beyond ASCII that are made of two signs are spelled out, or both forms would look the same."""
    return ascii(name) if not unicodedata.is_normalized("NFC", name) else some_of([name], 1)
