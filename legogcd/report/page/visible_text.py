"""Text from file names and labels as a page may show it."""

import unicodedata

_HARMLESS = {"Zs", "Cf"}  # spaces of all widths; joiners, which letters and emoji are made with
_TURNS_TEXT = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # bidirectional overrides and isolates


def visible(text: str) -> str:
    r"""The text with control characters, halves of characters and changes of writing direction written out.

    A name such as ``photo<U+202E>gpj.exe`` must not read as another one, and half a character is no UTF-8.

    >>> print(visible("a\x1b[2Jb\u202egpj.exe"))
    a\x1b[2Jb\u202egpj.exe
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(letter: str) -> str:
    harmless = unicodedata.category(letter) in _HARMLESS and unicodedata.bidirectional(letter) not in _TURNS_TEXT
    return letter if letter.isprintable() or harmless else repr(letter)[1:-1]
