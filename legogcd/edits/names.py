"""Names a person gives, and finding what a written name or path means."""

import difflib
import posixpath
import unicodedata
from collections.abc import Collection, Sequence

from legogcd.collection.group_names import group_number
from legogcd.errors import UserError
from legogcd.wording import some_of

ASIDE = "set aside"
"""The category of images that show nothing the collection is about."""

_NOT_IN_NAMES = {"Cc", "Cs", "Zl", "Zp"}  # control characters, halves of characters, line and paragraph ends


def shown(name: str) -> str:
    """A category in a message: quoted unless it is a group without a name.

    >>> shown("new-003"), shown("snowy owl")
    ('new-003', "'snowy owl'")
    """
    return name if group_number(name) is not None else repr(name)


def clean_name(given: str) -> str:
    """A given name as it is kept: trimmed, in Unicode's composed form.

    >>> clean_name("  snowy owl ")
    'snowy owl'
    """
    name = unicodedata.normalize("NFC", given.strip())
    if not name:
        raise UserError("the name is empty; give one like 'snowy owl'")
    if any(unicodedata.category(character) in _NOT_IN_NAMES for character in name):
        raise UserError(f"the name {name!r} has line breaks or control characters; give it in one line of plain text")
    if name == ASIDE:
        raise UserError(f"{name!r} is kept for images that show nothing of the collection: legogcd aside RUN GROUP")
    if group_number(name) is not None:
        raise UserError(f"{name!r}: names like 'new-001' are kept for groups without a name; give another")
    return name


def find_spelled(written: str, names: Collection[str]) -> str | None:
    """The name that ``written`` is: exactly, or alone up to blanks around it and its Unicode form."""
    if written in names:
        return written
    form = unicodedata.normalize("NFC", written.strip())
    same = [name for name in names if unicodedata.normalize("NFC", name) == form]
    return same[0] if len(same) == 1 else None


def find_path(written: str, paths: Collection[str]) -> str | None:
    """The path that ``written`` is: exactly, or alone up to slashes, ``./`` and its Unicode form."""
    if written in paths:
        return written
    return find_spelled(posixpath.normpath(written.strip().replace("\\", "/")), paths)


def no_category(written: str, names: Sequence[str]) -> str:
    """What to say about a category that is not there."""
    near = difflib.get_close_matches(written, names, n=1)
    hint = f"did you mean {shown(near[0])}? " if near else ""
    return f"there is no category {written!r}; {hint}there are: {some_of(sorted(names), 10)}"


def no_image(written: str, paths: Sequence[str]) -> str:
    """What to say about an image that is not there: those of the same file name, or those spelled nearly so."""
    file = posixpath.basename(written)
    near = [path for path in paths if posixpath.basename(path) == file] or difflib.get_close_matches(written, paths)
    hint = f"did you mean {some_of(near, 3)}?" if near else f"paths are those of predictions.csv, like {paths[0]!r}"
    return f"there is no image {written!r}; {hint}"
