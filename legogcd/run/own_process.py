"""Run a function in a process of its own, so that its memory is its own and can be told."""

import multiprocessing
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import psutil

T = TypeVar("T")
_INTERVAL = 0.05  # seconds between two looks


def in_own_process(function: Callable[..., T], *arguments: Any) -> tuple[T, int]:
    """What ``function`` returns and the most memory its process had, in bytes; its exceptions are raised here.

    Files that are mapped, such as kept views, do not count where the system tells them apart (Linux).
    """
    forked = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if forked else "spawn")
    if forked:
        context.set_forkserver_preload([function.__module__])  # its imports are paid once
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_watched, function, *arguments).result()


def _watched(function: Callable[..., T], *arguments: Any) -> tuple[T, int]:
    done = threading.Event()
    peak = own_memory()

    def watch() -> None:
        nonlocal peak
        while not done.wait(_INTERVAL):
            peak = max(peak, own_memory())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        result = function(*arguments)
    finally:
        done.set()
        watcher.join()
    return result, max(peak, own_memory())


def own_memory() -> int:
    """Bytes of memory this process holds by itself; files that are mapped are no part of it where the system tells."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return int(psutil.Process().memory_info().rss)
    return next(1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon"))
