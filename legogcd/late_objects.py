"""Classes and functions that are named as ``module:name`` and imported when they are needed, not before."""

from importlib import import_module
from typing import Any


def late(named: Any) -> Any:
    """What ``module:name`` stands for; anything that is no text stands for itself.

    >>> late("fractions:Fraction")(1, 2), late(len)("abc")
    (Fraction(1, 2), 3)
    """
    if not isinstance(named, str):
        return named
    module, _, name = named.partition(":")
    return getattr(import_module(module), name)


def plain_name(named: Any) -> str:
    """The name alone.

    >>> plain_name("fractions:Fraction"), plain_name(int)
    ('Fraction', 'int')
    """
    return named.rpartition(":")[2] if isinstance(named, str) else str(named.__name__)
