"""Let threads that wait for each other sleep instead of spinning.

OpenMP's threads share out every product, and whoever is done first spins until the last one is; NumPy's OpenBLAS does
so for 2²⁶ cycles after every call. Beside other work that spinning takes the core from the very thread it waits for:
products take 1.7 times the CPU, eigenvectors three times as long (docs/performance.md). Waking up costs
microseconds, a product milliseconds. What is computed stays the same to the bit.
"""

import os
from collections.abc import MutableMapping

_OPENMP = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")  # everybody's, GNU's and LLVM's
_OPENBLAS = "OPENBLAS_THREAD_TIMEOUT"  # the power of two of the cycles it spins; 4 is the least it takes


def sleep_while_waiting(environment: MutableMapping[str, str] = os.environ) -> None:
    """Ask for it in the environment, which the libraries read when they are loaded; what somebody chose stays.

    >>> chosen = {"GOMP_SPINCOUNT": "1000"}
    >>> sleep_while_waiting(chosen)
    >>> chosen
    {'GOMP_SPINCOUNT': '1000', 'OPENBLAS_THREAD_TIMEOUT': '4'}
    """
    if not any(name in environment for name in _OPENMP):
        environment["OMP_WAIT_POLICY"] = "passive"
    environment.setdefault(_OPENBLAS, "4")
