"""Keep glibc from handing large temporary tensors back to the system after every operation; have it do so once.

Mapping and unmapping their pages costs more than the arithmetic on them: on small CPU machines raising
the thresholds made EfficientNet-Lite0 inference two to three times as fast (``python -m bench.speed.allocator``).
A thread's own heap ends at 64 MB, and larger blocks are mapped whatever the threshold is; so threads share one heap.
"""

import ctypes
import os
import sys
from contextlib import suppress

_KEEP_BYTES = 1 << 30
_SETTINGS = {"M_MMAP_THRESHOLD": (-3, _KEEP_BYTES), "M_TRIM_THRESHOLD": (-1, _KEEP_BYTES), "M_ARENA_MAX": (-8, 1)}
SWITCH = "LEGOGCD_KEEP_ALLOCATOR"


def give_back() -> None:
    """Hand all freed memory back to the system, at the end of something large; what comes next begins without it."""
    if sys.platform.startswith("linux"):
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)


def keep_large_blocks() -> bool:
    """Raise glibc's mmap and trim thresholds, in one heap for all threads; True where that took effect.

    Does nothing outside Linux with glibc, or where the environment variable
    ``LEGOGCD_KEEP_ALLOCATOR`` is set.
    """
    if os.environ.get(SWITCH) or not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    taken = [mallopt(*setting) for setting in _SETTINGS.values()]
    return all(taken)
