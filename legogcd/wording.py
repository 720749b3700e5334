"""Counts, shares, sizes, times and lists of names as they stand in a message."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

_UNSAFE_ADVICE = re.compile(
    r"weights_only|trust_remote_code|allow_pickle|MAX_IMAGE_PIXELS|LOAD_TRUNCATED_IMAGES|MAX_TEXT_|decompression bomb"
    r"|safe_globals|unsafe|disabl|field_size_limit",
    re.IGNORECASE,
)


def counted(n: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{n} {noun if n == 1 else plural}"


def printable(text: str) -> str:
    r"""The text with everything a terminal would act on (escapes, line ends, changes of direction) made visible.

    >>> print(printable("a\x1b[2Jb\r.jpg"))
    a\x1b[2Jb\r.jpg
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def library_error(error: BaseException, most: int = 160) -> str:
    """What a library says of an error, on one line; advice to switch a protection off is not passed on.

    >>> library_error(ValueError("no  such key")), library_error(ValueError("use weights_only=False"))
    ('no such key', 'refused for safety (ValueError)')
    >>> library_error(OSError(b"not a raw file"))
    'not a raw file'
    """
    said = error.args[0] if len(error.args) == 1 else error
    text = printable(" ".join((said.decode("utf-8", "replace") if isinstance(said, bytes) else str(error)).split()))
    if _UNSAFE_ADVICE.search(text):
        return f"refused for safety ({type(error).__name__})"
    return (text if len(text) <= most else f"{text[: most - 1]}…") or type(error).__name__


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


def skipped_files(skipped: Mapping[str, str], where: str = "skipped.csv") -> str:
    """How many files were left out for which reason; what stands in brackets in a reason is for ``where``.

    >>> skipped_files({"a.txt": "not an image", "b.jpg": "empty file", "c.png": "not an image (text)"})
    '3 files left out: 2 not an image, 1 empty file (all in skipped.csv)'
    """
    kinds = Counter(reason.split(" (")[0] for reason in skipped.values())
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return f"{counted(len(skipped), 'file')} left out: {listed} (all in {where})"


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
