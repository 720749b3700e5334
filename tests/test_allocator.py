"""The allocator setting takes effect at import, and one environment variable leaves it alone."""

import os
import platform
import subprocess
import sys

import pytest

from legogcd.allocator import SWITCH, keep_large_blocks

PROGRAM = "from legogcd.allocator import keep_large_blocks; print(keep_large_blocks())"


def said(environment: dict[str, str]) -> str:
    child = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return child.stdout.strip()


def test_glibc_takes_it_and_the_variable_switches_it_off() -> None:
    assert said({SWITCH: ""}) == str(platform.libc_ver()[0] == "glibc")
    assert said({SWITCH: "1"}) == "False"


AGAIN = """
import legogcd, resource, threading
import numpy as np

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.empty(100_000_000, np.uint8).fill(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

found = []
thread = threading.Thread(target=lambda: found.extend(faults() for _ in range(3)))
thread.start()
thread.join()
print(*found)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_a_thread_that_needs_a_large_block_again_finds_its_pages_there() -> None:
    """A thread's own heap ends at 64 MB: larger blocks would be mapped, and every page of them made, each time."""
    kept, mapped = (
        subprocess.run(
            [sys.executable, "-c", AGAIN], env=os.environ | {SWITCH: off}, capture_output=True, text=True, check=True
        ).stdout.split()
        for off in ("", "1")
    )
    assert int(kept[-1]) < 100
    assert int(mapped[-1]) > 100


def test_asking_twice_does_no_harm() -> None:
    assert keep_large_blocks() == keep_large_blocks()


def test_threads_sleep_while_they_wait_unless_somebody_chose() -> None:
    """It must stand in the environment before torch and NumPy, and with them OpenMP and OpenBLAS, are loaded."""
    program = (
        "import legogcd, os, sys; print(os.environ.get('OMP_WAIT_POLICY'), os.environ.get('OPENBLAS_THREAD_TIMEOUT'), "
        "bool({'torch', 'numpy'} & set(sys.modules)))"
    )
    names = ("OMP_WAIT_POLICY", "OPENBLAS_THREAD_TIMEOUT")
    asked = {name: value for name, value in os.environ.items() if name not in names}
    for chosen, expected in (({}, "passive 4 False"), ({names[0]: "active", names[1]: "26"}, "active 26 False")):
        child = subprocess.run([sys.executable, "-c", program], env=asked | chosen, capture_output=True, text=True)
        assert child.stdout.strip() == expected, child.stderr
