"""What a brick's constructor accepts; anything else ends in one clear line."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TypeVar

from legogcd.errors import UserError

Choice = TypeVar("Choice")


def positive(name: str, value: float) -> float:
    """``value`` as a float, where it is a finite number above zero."""
    if not isinstance(value, Real) or not 0 < value < math.inf:
        raise UserError(f"{name} is {value!r}; give a number above 0.")
    return float(value)


def not_negative(name: str, value: float) -> float:
    """``value`` as a float, where it is a finite number of zero or more."""
    if not isinstance(value, Real) or not 0 <= value < math.inf:
        raise UserError(f"{name} is {value!r}; give a number of 0 or more.")
    return float(value)


def fraction(name: str, value: float) -> float:
    """``value`` as a float, where it lies between 0 and 1."""
    if not isinstance(value, Real) or not 0 <= value <= 1:
        raise UserError(f"{name} is {value!r}; give a number from 0 to 1.")
    return float(value)


def count(name: str, value: int, at_least: int) -> int:
    """``value`` as an int, where it is a whole number of ``at_least`` or more."""
    if not isinstance(value, Integral) or value < at_least:
        raise UserError(f"{name} is {value!r}; give a whole number of {at_least} or more.")
    return int(value)


def one_of(name: str, value: Choice, choices: Sequence[Choice]) -> Choice:
    """``value``, where it is one of ``choices``."""
    if value not in choices:
        raise UserError(f"{name} is {value!r}; give one of {', '.join(map(repr, choices))}.")
    return value
