"""Let threads that wait for each other sleep instead of spinning.

OpenMP's threads share out every product, and whoever is done first spins until the last one is. Beside other work that
spinning takes the core from the very thread it waits for: with ten processes to a core, steps took two to three times
as long (``python -m bench.speed.busy``). Waking up costs microseconds, a product milliseconds.
"""

import os
from collections.abc import MutableMapping

_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")  # OpenMP's, GNU's and LLVM's


def sleep_while_waiting(environment: MutableMapping[str, str] = os.environ) -> bool:
    """Ask for it in the environment, which OpenMP reads when torch is loaded; True unless somebody has chosen.

    >>> sleep_while_waiting({"GOMP_SPINCOUNT": "1000"})
    False
    """
    if any(name in environment for name in _SETTINGS):
        return False
    environment["OMP_WAIT_POLICY"] = "passive"
    return True
