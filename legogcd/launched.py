"""Whether a launcher (torchrun, accelerate, Ray) started this process among several: variables that all of them set."""

import os

COUNT, RANK = "WORLD_SIZE", "RANK"


def count() -> int:
    """How many processes were started together; 1 where there is no launcher."""
    return max(1, _number(COUNT, 1))


def rank() -> int:
    """This process's number among them; the first, 0, is the one that speaks and writes."""
    return _number(RANK, 0) if count() > 1 else 0


def _number(name: str, otherwise: int) -> int:
    given = os.environ.get(name, "")
    return int(given) if given.isdecimal() else otherwise
